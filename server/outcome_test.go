package server

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// ListModels compares what the users of an arm do with what those of main do, and metrics have the
// counts.
func TestOutcomeOfArms(t *testing.T) {
	ts := start(t, withArm(t, nil, 50, nil))
	taken := map[string]int64{}
	for n := range 600 {
		user := fmt.Sprint("u", n)
		req := forUser(user)
		req.Attribute = true
		list := ts.ask(t, req)
		if list.GetArm() == "main" && n%3 != 0 { // users of b take all
			continue
		}
		taken[list.GetArm()]++
		ts.observe(t, &pb.Event{UserId: user, ItemId: list.GetItems()[0].GetItemId(),
			EventId: user, RecommendationId: list.GetRecommendationId(), Value: proto.Float64(2)})
	}
	got := reply(t, ts.admin.ListModels, &pb.ListModelsRequest{}).GetModels()
	main, b := got[0].GetOutcome(), got[1].GetOutcome()
	for i, o := range []*pb.ArmOutcome{main, b} {
		hits := taken[got[i].GetArm()]
		if o.GetHitCount() != hits || o.GetHitsByType()["like"] != hits ||
			o.GetValueByType()["like"] != 2*float64(hits) ||
			o.GetCallCount() != o.GetListCount() || o.GetFailedCallCount() != 0 ||
			o.GetCallSeconds() <= 0 ||
			o.GetUserCount() != o.GetListCount() || o.GetPopularListCount() != o.GetListCount() ||
			o.GetRate() != float64(hits)/float64(o.GetUserCount()) ||
			o.GetRateLow() >= o.GetRate() || o.GetRateHigh() <= o.GetRate() {
			t.Errorf("%s with %d hits: %v", got[i].GetArm(), hits, o)
		}
	}
	same(t, int64(600), main.GetUserCount()+b.GetUserCount(), "users")
	v := b.GetVerdict()
	if v.GetPValue() > 1e-3 || v.GetDifferenceLow() <= 0 || v.GetUsersNeeded() != 0 ||
		v.GetDifference() != b.GetRate()-main.GetRate() || v.GetUsersNeededForMinEffect() <= 0 ||
		main.GetVerdict() != nil {
		t.Errorf("main %v, b %v", main, b)
	}
	for name, want := range map[string]int64{"gsimc_arm_users_total": 600,
		"gsimc_arm_popular_lists_total": 600,
		"gsimc_arm_hits_total":          main.GetHitCount() + b.GetHitCount()} {
		sum := 0.0
		for _, n := range ts.counters(t, name) {
			sum += n
		}
		same(t, float64(want), sum, "%s", name)
	}
	alone := reply(t, start(t, setup{}).admin.ListModels, &pb.ListModelsRequest{}).GetModels()[0]
	if alone.GetOutcome() != nil {
		t.Errorf("one arm has the outcome %v", alone.GetOutcome())
	}
}
