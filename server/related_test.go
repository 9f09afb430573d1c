package server

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/again"
)

// related is a request for what goes with a history or an item of it.
func related(kind pb.ListKind, of *pb.RecommendRequest) *pb.RecommendRequest {
	of.List, of.PageSize = kind, testItems
	return of
}

// What goes with a history together is the order of what its events add to all scores, computed one
// by one, without the items of the history.
func TestTogether(t *testing.T) {
	overModels(t, func(t *testing.T, open opened) {
		m := check.Get(open())(t)
		ts := start(t, setup{open: open})
		rng := rand.New(rand.NewPCG(1, 2))
		q, none := m.NewQuery(), m.NewQuery()
		m.QueryTo(none, m.NewState(), ts.cfg.Estimator)
		after, before := make([]float32, testItems), make([]float32, testItems)
		m.ScoresTo(before, none)
		for range 50 {
			basket := rng.Perm(testItems)[:1+rng.IntN(5)]
			s := m.NewState()
			for _, i := range basket {
				m.Fold(s, model.Event{Item: int32(i), Weight: 1})
			}
			m.QueryTo(q, s, ts.cfg.Estimator)
			m.ScoresTo(after, q)
			m.Added(q, ts.cfg.Estimator)
			added := make([]float32, testItems)
			m.ScoresTo(added, q)
			order := slices.DeleteFunc(ranking.Order(added),
				func(j int32) bool { return slices.Contains(basket, int(j)) })
			got := ts.ask(t, related(pb.ListKind_LIST_KIND_TOGETHER, forHistory(basket...)))
			check.MustSame(t, len(order), len(got.GetItems()), "items that go with %v", basket)
			for at, r := range got.GetItems() {
				j := order[at]
				want := float64(after[j]) - float64(before[j])
				if r.GetItemId() != item(int(j)) || r.GetScore() != float64(added[j]) ||
					math.Abs(want-r.GetScore()) > 1e-5*(1+math.Abs(float64(after[j]))) ||
					r.GetSource() != pb.ResultSource_RESULT_SOURCE_SIMILAR {
					t.Fatalf("with %v, place %d: %v, want %s with %v", basket, at, r,
						item(int(j)), want)
				}
			}
		}
	}, "paper", "learned")
}

// What brings users back to items is not in the scores of what goes with them, explained or not.
func TestTogetherAgain(t *testing.T) {
	ts := start(t, setup{open: func() (*model.Model, error) {
		return comingBack(t, again.Spec{Decay: 0.6, Constant: 1, Recency: 2, Newest: 3}), nil
	}})
	for _, e := range visitedBy("ann") {
		ts.observe(t, e)
	}
	req := related(pb.ListKind_LIST_KIND_TOGETHER, forUser("ann"))
	req.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
	want := ts.ask(t, req).GetItems()
	req.Explain = 2
	same(t, want, ts.ask(t, req).GetItems(), "with an explanation")
	req.Seen.Mode = pb.SeenPolicy_MODE_ONLY
	for _, got := range ts.ask(t, req).GetItems() {
		if !slices.ContainsFunc(want, func(x *pb.ScoredItem) bool { return proto.Equal(x, got) }) {
			t.Errorf("of the history alone: %v, of all: %v", got, want)
		}
	}
}

// A list because of an item is that of SimilarItems without what is seen. The item is the newest one
// that was liked, and which the catalogue shows.
func TestBecause(t *testing.T) {
	ts := start(t, setup{})
	because := func(want int, user string) {
		t.Helper()
		got := ts.ask(t, related(pb.ListKind_LIST_KIND_BECAUSE, forUser(user)))
		seen := itemIDs(ts.ask(t, &pb.RecommendRequest{PageSize: testItems,
			Subject: &pb.RecommendRequest_UserId{UserId: user},
			Seen:    &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_ONLY}}))
		seen = append(seen, item(5)) // which is disliked, and in no list of what is liked
		like := similarIDs(ts.similar(t,
			&pb.SimilarItemsRequest{ItemId: item(want), PageSize: testItems}))
		like = slices.DeleteFunc(like, func(id string) bool { return slices.Contains(seen, id) })
		same(t, item(want), got.GetBecauseItemId(), "because_item_id")
		same(t, like, itemIDs(got), "items")
	}
	for _, i := range []int{2, 3} {
		ts.observe(t, newEvent("ann", i))
	}
	disliked := newEvent("ann", 5)
	disliked.Value = new(-1.0)
	ts.observe(t, newEvent("ann", 5))
	ts.observe(t, disliked)
	because(3, "ann")
	ts.put(t, &pb.Item{ItemId: item(3), Hidden: new(true)})
	because(2, "ann")
	again := related(pb.ListKind_LIST_KIND_BECAUSE, forUser("ann"))
	again.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
	if got := itemIDs(ts.ask(t, again)); slices.Contains(got, item(2)) ||
		!slices.Contains(got, item(5)) {
		t.Errorf("with seen items the list is %v", got)
	}
	ts.observe(t, &pb.Event{UserId: "bob", ItemId: item(5), Value: disliked.Value})
	ts.ask(t, forUser("ann")) // whose query is in the memory of the next list
	for user, want := range map[string]pb.Degradation{
		"bob":    pb.Degradation_DEGRADATION_NO_USABLE_HISTORY,
		"nobody": pb.Degradation_DEGRADATION_UNKNOWN_USER,
	} {
		nothing := related(pb.ListKind_LIST_KIND_BECAUSE, forUser(user))
		nothing.Pinned = []*pb.Pin{{ItemId: item(9), Position: 1}}
		got, popular := ts.ask(t, nothing), ts.ask(t, page(forUser("nobody"), testItems))
		same(t, popular.GetItems()[slices.Index(itemIDs(popular), item(9))].GetScore(),
			got.GetItems()[0].GetScore(), "the score of a pinned item")
		got.Items = got.Items[1:]
		if got.GetBecauseItemId() != "" || len(got.GetItems()) > 0 ||
			!slices.Equal(got.GetDegradations(), []pb.Degradation{want}) {
			t.Errorf("%s: %v because of %q, with %v", user, listOf(got), got.GetBecauseItemId(),
				got.GetDegradations())
		}
	}
}
