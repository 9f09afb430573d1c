package wire

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/verdict"
)

// The verdict by the added counts of three servers is that of one server that counted all users.
func TestOutcomesAddUp(t *testing.T) {
	const servers, users = 3, 20_000
	rng := rand.New(rand.NewPCG(1, 2))
	var all [2]verdict.Sums
	var seen [servers][2]verdict.Sums
	for range users {
		arm, group, hits := rng.IntN(2), rng.IntN(verdict.Groups), int64(0)
		if rng.IntN(10) < 3+arm {
			hits = 1
		}
		for _, s := range []*verdict.Sums{&all[arm], &seen[rng.IntN(servers)][arm]} {
			s.Users[group]++
			s.Hits[group] += hits
		}
	}
	var models []*pb.ArmModel
	for _, of := range seen {
		more := armsOf(&of[0], &of[1])
		if Judge(more); models == nil {
			models = more
		} else {
			check.Same(t, true, AddOutcomes(models, more), "they have the same arms")
		}
	}
	Judge(models)
	want := verdict.Compare(&all[0], &all[1])
	got := models[1].GetOutcome().GetVerdict()
	check.Same(t, [4]float64{want.Difference, want.Low, want.Top, want.P}, [4]float64{
		got.GetDifference(), got.GetDifferenceLow(), got.GetDifferenceHigh(), got.GetPValue()}, "verdict")
	for i, m := range models {
		r, o := verdict.Of(&all[i]), m.GetOutcome()
		check.Same(t, []int64{r.Users, r.Hits, 30, 6, 3, 21, 12}, []int64{o.GetUserCount(), o.GetHitCount(),
			o.GetListCount(), o.GetPopularListCount(), o.GetHitsByType()["buy"], o.GetCallCount(),
			o.GetFailedCallCount()}, "counts of arm %d", i)
		check.Same(t, [2]float64{1.5, 7.5}, [2]float64{o.GetCallSeconds(),
			o.GetValueByType()["buy"]}, "seconds and value of arm %d", i)
	}
	if v := models[0].GetOutcome().GetVerdict(); v != nil {
		t.Errorf("main is compared with itself: %v", v)
	}
}

// armsOf are the arms of a server with ten lists each.
func armsOf(sums ...*verdict.Sums) (arms []*pb.ArmModel) {
	for i, s := range sums {
		arms = append(arms, &pb.ArmModel{Arm: []string{"main", "next"}[i], ConfiguredSharePercent: 50,
			Outcome: &pb.ArmOutcome{ListCount: 10, PopularListCount: 2,
				CallCount: 7, FailedCallCount: 4, CallSeconds: 0.5,
				HitsByType: map[string]int64{"buy": 1}, ValueByType: map[string]float64{"buy": 2.5},
				GroupUserCounts: s.Users[:],
				GroupHitCounts:  s.Hits[:]}})
	}
	return arms
}

// Servers with other arms, or other shares of them, are not added.
func TestOutcomesOfOtherArms(t *testing.T) {
	var none verdict.Sums
	for name, change := range map[string]func(m []*pb.ArmModel) []*pb.ArmModel{
		"one arm":      func(m []*pb.ArmModel) []*pb.ArmModel { return m[:1] },
		"another name": func(m []*pb.ArmModel) []*pb.ArmModel { m[1].Arm = "b"; return m },
		"other shares": func(m []*pb.ArmModel) []*pb.ArmModel { m[1].ConfiguredSharePercent = 9; return m },
		"no counts":    func(m []*pb.ArmModel) []*pb.ArmModel { m[1].Outcome = nil; return m },
		"no groups":    func(m []*pb.ArmModel) []*pb.ArmModel { m[1].Outcome.GroupHitCounts = nil; return m },
	} {
		if AddOutcomes(armsOf(&none, &none), change(armsOf(&none, &none))) {
			t.Errorf("%s: the arms are taken for the same", name)
		}
	}
	alone := []*pb.ArmModel{{Arm: "main", ConfiguredSharePercent: 100}}
	Judge(alone)
	if !AddOutcomes(alone, alone) || !proto.Equal(alone[0],
		&pb.ArmModel{Arm: "main", ConfiguredSharePercent: 100}) {
		t.Errorf("servers without further arms: %v", alone)
	}
}
