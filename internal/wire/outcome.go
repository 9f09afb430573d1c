package wire

import (
	"math"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/verdict"
)

// AddOutcomes adds what another server has counted of its arms to what one has, main's first. It
// reports whether the arms and their shares of the users are the same; if not, neither is of use.
// [Judge] says afterwards what the counts mean.
func AddOutcomes(to, more []*pb.ArmModel) (same bool) {
	if len(to) != len(more) {
		return false
	}
	for i, m := range more {
		all, of := to[i].GetOutcome(), m.GetOutcome()
		if m.GetArm() != to[i].GetArm() || (all == nil) != (of == nil) ||
			m.GetConfiguredSharePercent() != to[i].GetConfiguredSharePercent() {
			return false
		}
		if all == nil {
			continue
		}
		if len(of.GetGroupUserCounts()) != verdict.Groups ||
			len(of.GetGroupHitCounts()) != verdict.Groups {
			return false
		}
		addOutcome(all, of)
	}
	return true
}

func addOutcome(to, more *pb.ArmOutcome) {
	to.ListCount += more.GetListCount()
	to.PopularListCount += more.GetPopularListCount()
	to.CallCount += more.GetCallCount()
	to.FailedCallCount += more.GetFailedCallCount()
	to.CallSeconds += more.GetCallSeconds()
	to.HitsByType = sum(to.HitsByType, more.GetHitsByType())
	to.ValueByType = sum(to.ValueByType, more.GetValueByType())
	sums, others := sumsOf(to), sumsOf(more)
	sums.Add(&others)
	to.GroupUserCounts, to.GroupHitCounts = sums.Users[:], sums.Hits[:]
}

// sum adds the numbers of more to those of to, which may be nil.
func sum[T int64 | float64](to, more map[string]T) map[string]T {
	if to == nil {
		to = map[string]T{}
	}
	for name, n := range more {
		to[name] += n
	}
	return to
}

func sumsOf(o *pb.ArmOutcome) (s verdict.Sums) {
	copy(s.Users[:], o.GetGroupUserCounts())
	copy(s.Hits[:], o.GetGroupHitCounts())
	return s
}

// Judge sets users, hits and rates of arms, main's first, and their comparisons with main, by the
// counts of the groups. It does nothing if there is one arm, which has no outcome.
func Judge(arms []*pb.ArmModel) {
	var main verdict.Sums
	for i, a := range arms {
		o := a.GetOutcome()
		if o == nil {
			return
		}
		sums := sumsOf(o)
		r := verdict.Of(&sums)
		o.UserCount, o.HitCount = r.Users, r.Hits
		o.Rate, o.RateLow, o.RateHigh, o.Verdict = r.Rate, r.Low, r.Top, nil
		if i == 0 {
			main = sums
			continue
		}
		if v := verdict.Compare(&main, &sums); v.Known {
			o.Verdict = &pb.ArmVerdict{Difference: v.Difference, DifferenceLow: v.Low,
				DifferenceHigh: v.Top, PValue: v.P, UsersNeeded: usersNeeded(v.Needed),
				UsersNeededForMinEffect: usersNeeded(v.NeededMin)}
		}
	}
}

// usersNeeded is a number of users, -1 if there is none.
func usersNeeded(n float64) int64 {
	if math.IsInf(n, 1) {
		return -1
	}
	return int64(n)
}
