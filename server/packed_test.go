package server

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// The packed form says the same as the other.
func TestPackedItems(t *testing.T) {
	ts := startNamed(t, "learned")
	for _, i := range []int{4, 9, 20} {
		ts.observe(t, newEvent("ann", i))
	}
	explained := exploring(forHistory(1, 2, 3), nil, 5)
	explained.Explain = 2
	narrow := exploring(forUser("nobody"), nil, 5)
	narrow.Filter = &pb.ItemFilter{AllowItemIds: []string{"unknown"}}
	for _, req := range []*pb.RecommendRequest{forUser("ann"), explained, narrow,
		exploring(forUser("ann"), thompson(3, 1), 10)} {
		want := ts.ask(t, req)
		req.Packed = true
		got := ts.ask(t, req)
		packed := got.GetPackedItems()
		got.PackedItems = nil
		same(t, 0, len(got.GetItems()), "items beside the packed ones")
		for i, id := range packed.GetItemIds() {
			scored := &pb.ScoredItem{ItemId: id, Score: float64(packed.GetScores()[i]),
				Source: packed.GetSource()}
			if d := packed.GetScoreStddevs(); len(d) > 0 {
				scored.ScoreStddev = proto.Float64(float64(d[i]))
			}
			if x := packed.GetExplanations(); len(x) > 0 {
				scored.Explanation = x[i]
			}
			got.Items = append(got.Items, scored)
		}
		if packed == nil {
			t.Error("no packed items")
		}
		same(t, want, got, "packed answer (-messages +packed)")
	}
}
