package server

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
)

// until waits for a list of these items.
func (ts *testServer) until(t *testing.T, req *pb.RecommendRequest, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprint("the list is ", want), func() bool {
		return slices.Equal(itemIDs(ts.ask(t, req)), want)
	})
}

// Without a model the lists hold the popular items of the store, by the rules of all lists, and
// follow what is written, erased and retracted. A model takes over with a reload.
func TestWithoutModel(t *testing.T) {
	var trained atomic.Bool
	ts := start(t, setup{open: func() (*model.Model, error) {
		if !trained.Load() {
			return nil, ErrNoModel
		}
		return newModel(t, 1), nil
	}, config: func(c *Config) { c.QualitySample, c.ExtendEvery = 1, time.Millisecond }})
	eve := forUser("eve")
	ts.until(t, eve)
	for _, e := range []struct {
		user string
		item int
	}{{"ann", 1}, {"ann", 2}, {"ann", 3}, {"bob", 1}, {"bob", 2}, {"cid", 2}, {"dan", 4}} {
		ts.observe(t, newEvent(e.user, e.item))
	}
	ts.until(t, eve, item(2), item(1), item(3), item(4))
	ts.until(t, forUser("bob"), item(3), item(4)) // not what was seen
	got := ts.ask(t, forUser("bob"))
	if d := got.GetDegradations(); !slices.Contains(d, pb.Degradation_DEGRADATION_NO_MODEL) ||
		got.GetItems()[0].GetSource() != pb.ResultSource_RESULT_SOURCE_POPULAR ||
		!strings.HasPrefix(got.GetModelVersion(), "popularity-") || got.GetUserRevision() != 2 {
		t.Errorf("the answer is %v", got)
	}
	filtered := forUser("eve")
	filtered.Filter = &pb.ItemFilter{DenyItemIds: []string{item(1)},
		AllowItemIds: []string{item(1), item(3), item(4)}}
	ts.until(t, filtered, item(3), item(4))
	ts.put(t, &pb.Item{ItemId: item(4), Labels: []string{"own"}})
	boosted := forUser("eve")
	boosted.Boosts = []*pb.Boost{{Weight: 2, Filter: &pb.ItemFilter{AnyLabels: []string{"own"}}}}
	ts.until(t, boosted, item(4), item(2), item(1), item(3))
	reply(t, ts.items.BatchUpsertItems, &pb.BatchUpsertItemsRequest{
		Items: []*pb.Item{{ItemId: item(2), Hidden: proto.Bool(true)}}})
	ts.until(t, eve, item(1), item(3), item(4))
	reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: "ann"})
	ts.until(t, eve, item(1), item(4))
	reply(t, ts.users.RetractEvents, &pb.RetractEventsRequest{UserId: "dan",
		ItemIds: []string{item(4)}})
	ts.until(t, eve, item(1))
	ts.withoutModelElsewhere(t)
	trained.Store(true)
	must(t, ts.Reload(ctx(t)))
	if got := ts.ask(t, forUser("bob")); got.GetModelVersion() != ts.ModelVersion() ||
		got.GetItems()[0].GetSource() != pb.ResultSource_RESULT_SOURCE_PERSONALIZED {
		t.Errorf("with a model the answer is %v", got)
	}
	ts.observe(t, newEvent("eve", 5))
	if ts.ModelVersion() == "" {
		t.Error("an event brings the popular items back")
	}
}

// withoutModelElsewhere asks for all but lists.
func (ts *testServer) withoutModelElsewhere(t *testing.T) {
	t.Helper()
	same(t, "", ts.ModelVersion(), "the model has the version")
	if code, text := ts.get(t, "/readyz"); code != 200 || !strings.Contains(text, "no model yet") {
		t.Errorf("/readyz: %d %s", code, text)
	}
	status := reply(t, ts.admin.GetStatus, &pb.GetStatusRequest{})
	same(t, "popularity", status.GetModel().GetDynamics(), "dynamics by GetStatus")
	explored := exploring(forUser("eve"), thompson(7, 1), 0)
	_, err := ts.recommend.Recommend(ctx(t), explored)
	same(t, problem{Code: codes.FailedPrecondition, Reason: "NO_UNCERTAINTY"}, problemOf(t, err),
		"exploration")
	similar, err := ts.recommend.SimilarItems(ctx(t), &pb.SimilarItemsRequest{ItemId: item(1)})
	if err != nil || len(similar.GetItems()) != 0 ||
		!slices.Contains(similar.GetDegradations(), pb.Degradation_DEGRADATION_NO_MODEL) {
		t.Errorf("SimilarItems: %v, %v", similar, err)
	}
	scores, err := ts.recommend.ScoreItems(ctx(t), &pb.ScoreItemsRequest{
		Subject: &pb.ScoreItemsRequest_UserId{UserId: "eve"}, ItemIds: []string{item(1), item(9)}})
	if err != nil || len(scores.GetItems()) != 1 ||
		scores.GetItems()[0].GetScore() != float64(float32(1.0/3)) { // of bob, bob and cid
		t.Errorf("ScoreItems: %v, %v", scores, err)
	}
	found := reply(t, ts.items.SearchItems, &pb.SearchItemsRequest{}).GetItems()
	same(t, []string{item(2) + "?", item(1) + "?"}, foundIDs(found), "SearchItems")
	same(t, int64(0), found[0].GetTrainUsers(), "training users")
	user := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "bob"})
	same(t, int64(2), user.GetUser().GetEventCount(), "events by GetUser")
}
