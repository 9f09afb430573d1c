package operate

import (
	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/credit"
)

// countsOf are the counts of an arm, which wire.Judge says more of; nil if there is one arm.
func countsOf(all []credit.Figures, arm int) *pb.ArmOutcome {
	if all == nil {
		return nil
	}
	f := &all[arm]
	o := &pb.ArmOutcome{ListCount: f.Lists, PopularListCount: f.Popular,
		HitsByType: map[string]int64{}, ValueByType: map[string]float64{},
		GroupUserCounts: f.Users[:], GroupHitCounts: f.Hits[:],
		CallCount: f.Calls, FailedCallCount: f.Failed, CallSeconds: f.Took.Seconds()}
	for name, hits := range f.ByType {
		o.HitsByType[name], o.ValueByType[name] = hits.Count, hits.Value
	}
	return o
}
