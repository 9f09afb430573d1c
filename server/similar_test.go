package server

import (
	"math"
	"slices"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
)

func (ts *testServer) similar(
	t testing.TB, req *pb.SimilarItemsRequest,
) *pb.SimilarItemsResponse {
	t.Helper()
	return reply(t, ts.recommend.SimilarItems, req)
}

// The list of an item is that of all scores, computed one by one, and its scores are what an event
// on the item adds to the scores of somebody without events.
func TestSimilarItems(t *testing.T) {
	overModels(t, func(t *testing.T, open opened) {
		m := check.Get(open())(t)
		ts := start(t, setup{
			open:   open,
			config: func(c *Config) { c.Now = func() time.Time { return testNow } },
		})
		for i := range testItems {
			checkSimilar(t, ts, m, i)
		}
	}, "paper", "learned", "tastes")
}

// checkSimilar compares the list of item i with its oracles.
func checkSimilar(t *testing.T, ts *testServer, m *model.Model, i int) {
	t.Helper()
	got := ts.similar(t, &pb.SimilarItemsRequest{ItemId: item(i), PageSize: testItems})
	q, one, scores := m.NewQuery(), m.NewState(), make([]float32, testItems)
	m.Fold(one, model.Event{Item: int32(i), Weight: 1})
	m.QueryTo(q, one, ts.cfg.Estimator)
	m.Added(q, ts.cfg.Estimator)
	m.ScoresTo(scores, q)
	order := slices.DeleteFunc(ranking.Order(scores), func(j int32) bool { return int(j) == i })
	if len(got.GetItems()) != len(order) || got.GetModelVersion() != m.Version() {
		t.Fatalf("%d items of model %s", len(got.GetItems()), got.GetModelVersion())
	}
	for at, r := range got.GetItems() {
		j := order[at]
		if r.GetItemId() != item(int(j)) || r.GetScore() != float64(scores[j]) ||
			r.GetSource() != pb.ResultSource_RESULT_SOURCE_SIMILAR || r.ScoreStddev != nil {
			t.Fatalf("item %d, place %d: %v, want %s with %v", i, at, r, item(int(j)), scores[j])
		}
	}
	checkDifference(t, ts, i, got)
}

// checkDifference compares the scores with the difference of two lists: of somebody whose one event
// is on item i, and of nobody.
func checkDifference(t *testing.T, ts *testServer, i int, got *pb.SimilarItemsResponse) {
	t.Helper()
	m := ts.arms.Main().Models.Acquire()
	defer m.Release()
	none, one := m.NewState(), m.NewState()
	m.Fold(one, model.Event{Item: int32(i), Weight: 1})
	before, after := make([]float32, testItems), make([]float32, testItems)
	q := m.NewQuery()
	m.QueryTo(q, none, ts.cfg.Estimator)
	m.ScoresTo(before, q)
	m.QueryTo(q, one, ts.cfg.Estimator)
	m.ScoresTo(after, q)
	for _, r := range got.GetItems() {
		j, _ := m.ItemIndex(r.GetItemId())
		want := float64(after[j]) - float64(before[j])
		if math.Abs(want-r.GetScore()) > 1e-5*(1+math.Abs(float64(after[j]))) {
			t.Errorf("item %d and %d: score %v, want %v − %v", i, j, r.GetScore(), after[j],
				before[j])
		}
	}
}

// The filters of a list are those of Recommend.
func TestSimilarItemsFilters(t *testing.T) {
	ts := start(t, setup{})
	full := similarIDs(ts.similar(t, &pb.SimilarItemsRequest{ItemId: item(3), PageSize: 1000}))
	if slices.Contains(full, item(3)) || len(full) != testItems-1 {
		t.Errorf("the full list has %d items, or the item itself", len(full))
	}
	for _, tt := range []struct {
		name          string
		req           *pb.SimilarItemsRequest
		want, unknown []string
	}{
		{"two", &pb.SimilarItemsRequest{ItemId: item(3), PageSize: 2}, full[:2], nil},
		{"ten", &pb.SimilarItemsRequest{ItemId: item(3)}, full[:10], nil},
		{"deny", &pb.SimilarItemsRequest{ItemId: item(3), PageSize: 2,
			Filter: &pb.ItemFilter{DenyItemIds: full[:1]}}, full[1:3], nil},
		{"allow", &pb.SimilarItemsRequest{ItemId: item(3), Filter: &pb.ItemFilter{
			AllowItemIds: []string{full[5], "x", full[2], item(3)}}},
			[]string{full[2], full[5]}, []string{"x"}},
		{"unknown", &pb.SimilarItemsRequest{ItemId: "x"}, nil, []string{"x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ts.similar(t, tt.req)
			same(t, tt.want, similarIDs(got), "items")
			same(t, tt.unknown, got.GetUnknownItemIds(), "unknown_item_ids")
			same(t, tt.name == "allow", slices.Contains(got.GetDegradations(),
				pb.Degradation_DEGRADATION_FILTER_TOO_NARROW), "the filter is too narrow")
		})
	}
}

func similarIDs(r *pb.SimilarItemsResponse) (ids []string) {
	for _, i := range r.GetItems() {
		ids = append(ids, i.GetItemId())
	}
	return ids
}
