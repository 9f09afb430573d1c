package operate

import (
	"math"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/credit"
	"github.com/gsimc/gsimc/internal/verdict"
)

// outcomeOf describes what the users of an arm did; arm 0 is main.
func outcomeOf(all []credit.Figures, arm int) *pb.ArmOutcome {
	if all == nil {
		return nil
	}
	f := &all[arm]
	r := verdict.Of(&f.Sums)
	o := &pb.ArmOutcome{UserCount: r.Users, ListCount: f.Lists, PopularListCount: f.Popular,
		HitCount: r.Hits, HitsByType: f.ByType, Rate: r.Rate, RateLow: r.Low, RateHigh: r.Top}
	if arm == 0 {
		return o
	}
	if v := verdict.Compare(&all[0].Sums, &f.Sums); v.Known {
		o.Verdict = &pb.ArmVerdict{Difference: v.Difference, DifferenceLow: v.Low,
			DifferenceHigh: v.Top, PValue: v.P, UsersNeeded: users(v.Needed),
			UsersNeededForMinEffect: users(v.NeededMin)}
	}
	return o
}

// users is a number of users, -1 if there is none.
func users(n float64) int64 {
	if math.IsInf(n, 1) {
		return -1
	}
	return int64(n)
}
