package server

import (
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/again"
	"github.com/gsimc/gsimc/model/trend"
)

// comingBack is a learned model that knows about coming back.
func comingBack(t *testing.T, spec again.Spec) *model.Model {
	t.Helper()
	m := newLearnedModel(t, 1, true)
	must(t, m.SetLive(trend.Spec{}, spec))
	return m
}

// visited are the items of a history, with events that repeat.
var visited = []int{4, 9, 4, 4, 20, 9, 25, 4, 25, 20, 20}

// at is the time of a visit.
func at(visit int) time.Time {
	return testNow.Add(time.Duration(17*(visit-len(visited))) * time.Hour)
}

func visitedBy(user string) (all []*pb.Event) {
	for j, i := range visited {
		e := newEvent(user, i)
		e.EventTime = timestamppb.New(at(j))
		all = append(all, e)
	}
	return all
}

// expected ranks all items for the history at a time, as an evaluation does.
func expected(m *model.Model, spec again.Spec, now time.Time) []float32 {
	s, q, scores := m.NewState(), m.NewQuery(), make([]float32, m.NumItems())
	var h model.History
	for j, i := range visited {
		item, _ := m.ItemIndex(item(i))
		h = append(h, model.Event{Item: item, Weight: 1, Time: at(j).Unix()})
		m.Fold(s, h[j])
	}
	m.QueryTo(q, s, model.EstimatorBGS)
	q.Boosts = spec.AddTo(q.Boosts, spec.Of(h, now.Unix()))
	m.ScoresTo(scores, q)
	return scores
}

func withSeen(req *pb.RecommendRequest, mode pb.SeenPolicy_Mode) *pb.RecommendRequest {
	req.PageSize, req.Seen = testItems, &pb.SeenPolicy{Mode: mode}
	return req
}

// A server ranks seen items as an evaluation does, for a user of the store and for a history in the
// request. A model without the constants scores them like all others. ONLY has the user's own items,
// with the same scores.
func TestAgainIsServedAsEvaluated(t *testing.T) {
	for name, spec := range map[string]again.Spec{
		"visits":   {Decay: 0.6, Constant: 1, Recency: 2, Newest: 3},
		"days":     {Decay: 1, Days: true, Constant: -1, Recency: 0.5, Newest: 0.1},
		"old file": {},
	} {
		t.Run(name, func(t *testing.T) {
			ts := start(t, setup{open: func() (*model.Model, error) {
				return comingBack(t, spec), nil
			}})
			for _, e := range visitedBy("ann") {
				ts.observe(t, e)
			}
			inline := &pb.InlineHistory{}
			for _, e := range visitedBy("") {
				inline.Entries = append(inline.Entries,
					&pb.HistoryEntry{ItemId: e.GetItemId(), EventTime: e.GetEventTime()})
			}
			m := comingBack(t, spec)
			want := expected(m, spec, testNow)
			own := []int32{4, 9, 20, 25}
			for _, mode := range []pb.SeenPolicy_Mode{pb.SeenPolicy_MODE_INCLUDE,
				pb.SeenPolicy_MODE_ONLY} {
				asked := map[string]*pb.RecommendRequest{
					"user": withSeen(forUser("ann"), mode),
					"history": withSeen(&pb.RecommendRequest{
						Subject: &pb.RecommendRequest_History{History: inline}}, mode),
				}
				for who, req := range asked {
					for _, explain := range []int32{0, 2} {
						req.Explain = explain
						got := ts.ask(t, req).GetItems()
						checkListed(t, m, mode.String()+" "+who, got, want,
							mode == pb.SeenPolicy_MODE_ONLY, own)
						if explain > 0 {
							checkAgain(t, m, spec, got)
						}
					}
				}
			}
			plain := itemIDs(ts.ask(t, withSeen(forUser("ann"), pb.SeenPolicy_MODE_UNSPECIFIED)))
			same(t, testItems-len(own), len(plain), "items that are new")
		})
	}
}

// checkListed compares a list with scores.
func checkListed(
	t *testing.T, m *model.Model, what string, got []*pb.ScoredItem, scores []float32, only bool,
	own []int32,
) {
	t.Helper()
	var want []int32
	for _, i := range ranking.Order(scores) {
		if !only || ranking.SetOf(len(scores), own...).Has(i) {
			want = append(want, i)
		}
	}
	check.MustSame(t, len(want), len(got), "%s: items", what)
	for j, i := range want {
		same(t, m.ItemID(i), got[j].GetItemId(), "%s: item in place %d", what, j+1)
		same(t, float64(scores[i]), got[j].GetScore(), "%s: score in place %d", what, j+1)
	}
}

// checkAgain checks the explanations of a list.
func checkAgain(t *testing.T, m *model.Model, spec again.Spec, got []*pb.ScoredItem) {
	t.Helper()
	visits := map[string]int32{item(4): 3, item(9): 2, item(20): 2, item(25): 2}
	last := map[string]int{item(4): 7, item(9): 5, item(20): 10, item(25): 8}
	for _, r := range got {
		checkExplanation(t, r, 2)
		part, id := r.GetExplanation().GetAgain(), r.GetItemId()
		if spec.None() {
			if part != nil {
				t.Errorf("%s comes again by a model that knows nothing of it: %v", id, part)
			}
			continue
		}
		if part.GetEvents() != visits[id] || part != nil &&
			!part.GetEventTime().AsTime().Equal(at(last[id]).Truncate(time.Second)) {
			t.Errorf("%s is there again by %v, want %d visits", id, part, visits[id])
		}
	}
}

// What a list of seen items does with the rest of a request.
func TestAgainWithOtherWishes(t *testing.T) {
	spec := again.Spec{Decay: 0.6, Constant: 1, Recency: 2, Newest: 30}
	ts := start(t, setup{open: func() (*model.Model, error) { return comingBack(t, spec), nil }})
	for _, e := range visitedBy("ann") {
		ts.observe(t, e)
	}
	dislike := newEvent("ann", 11)
	dislike.Value = proto.Float64(-1)
	ts.observe(t, dislike)
	only := func(edit func(*pb.RecommendRequest)) []string {
		req := withSeen(forUser("ann"), pb.SeenPolicy_MODE_ONLY)
		edit(req)
		return itemIDs(ts.ask(t, req))
	}
	all := only(func(*pb.RecommendRequest) {})
	if len(all) != 4 || all[3] != item(20) {
		t.Fatalf("the list is %v, want four items, the newest last", all)
	}
	same(t, []string{item(9)}, only(func(r *pb.RecommendRequest) {
		r.Filter = &pb.ItemFilter{AllowItemIds: []string{item(9), item(10), "nothing"}}
	}), "items that are allowed")
	same(t, all[1:], only(func(r *pb.RecommendRequest) {
		r.Filter = &pb.ItemFilter{DenyItemIds: all[:1]}
	}), "items that are not denied")
	same(t, 5, len(only(func(r *pb.RecommendRequest) {
		r.ExtraHistory = &pb.InlineHistory{Entries: []*pb.HistoryEntry{{ItemId: item(2)}}}
	})), "items with one of now")
	same(t, all[:3], only(func(r *pb.RecommendRequest) { r.PageSize = 3 }), "the first items")
	same(t, 0, len(itemIDs(ts.ask(t, withSeen(forUser("nobody"), pb.SeenPolicy_MODE_ONLY)))),
		"items of nobody")
	for name, x := range map[string]*pb.Exploration{
		"thompson": thompson(3, 0), "confidence": upperConfidence(0),
	} {
		same(t, all, only(func(r *pb.RecommendRequest) { r.Exploration = x }), "%s", name)
	}
	scored := reply(t, ts.recommend.ScoreItems, &pb.ScoreItemsRequest{
		Subject: &pb.ScoreItemsRequest_UserId{UserId: "ann"}, ItemIds: []string{item(3), all[0]},
		Seen: &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_ONLY}})
	same(t, []string{item(3)}, scored.GetExcludedItemIds(), "items without a score")
	top := ts.ask(t, withSeen(forUser("ann"), pb.SeenPolicy_MODE_ONLY)).GetItems()[0]
	if got := scored.GetItems()[0].GetScore(); math.Abs(got-top.GetScore()) > 0 {
		t.Errorf("the score is %v, want that of the list, %v", got, top.GetScore())
	}
}
