package recommend

import (
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/servertest"
)

// The trend is a part of its own. A contribution adds up the events on its item, and their parts of
// the local term beside.
func TestExplanationAddsUp(t *testing.T) {
	m := servertest.NewModel(t, 1)
	h := model.History{{Item: 4}, {Item: 9}, {Item: 4}}
	x := &model.Explanation{Length: 3, Base: []float64{0, 1}, Trend: []float64{0, 0.5},
		Earlier: []float64{0, 0.25},
		Events:  []float64{0, 0, 0, 2, -8, 4}, Local: []float64{0, 0, 0, 0.5, -1, 3}}
	want := &pb.Explanation{Base: 1, Trend: 0.5, Remainder: 0.25, Contributions: []*pb.Contribution{
		{ItemId: servertest.Item(9), Events: 1, Contribution: -8, Local: -1},
		{ItemId: servertest.Item(4), Events: 2, Contribution: 6, Local: 3.5},
	}}
	got := explanation(m, 5, x, 1, groupByItem(h), false)
	check.Same(t, want, got, "with a local term")
	x.Local = nil
	for _, c := range explanation(m, 5, x, 1, groupByItem(h), false).GetContributions() {
		check.Same(t, 0.0, c.GetLocal(), "the local part without a local term")
	}
}
