package look

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/chart"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
)

var nearly = cmpopts.EquateApprox(1e-6, 0)

// pointsOf returns the points of a figure: for each panel and name.
func pointsOf(f chart.Figure) []map[string][]chart.Point {
	var panels []map[string][]chart.Point
	for _, p := range f.Panels {
		curves := map[string][]chart.Point{}
		for _, c := range p.Curves {
			curves[c.Name] = c.Points
		}
		panels = append(panels, curves)
	}
	return panels
}

func TestModelFigures(t *testing.T) {
	d := shown(t, shownSpec(), 9, 3, fit.Histories{})
	want := []map[string][]chart.Point{{"κ": {
		{X: 1, Y: 1}, {X: 2, Y: 1 / math.Sqrt(2)}, {X: 3, Y: 1 / math.Sqrt(3)},
	}}}
	check.SameBy(t, nearly, want, pointsOf(spectrumFigure(&d)), "spectrum")
	bands := []kalman.Band{{Rho: 0}, {Rho: 0.5, HalfLife: 3600}}
	got := map[string][]chart.Point{}
	for _, c := range bandCurves(bands, []float64{1, 2, 3, 4}) {
		got[c.Name] = c.Points
	}
	wantBands := map[string][]chart.Point{
		"ρ = 0": {{X: 1, Y: 1}, {X: 2, Y: 2}}, "ρ = 0.5@1h0m0s": {{X: 1, Y: 3}, {X: 2, Y: 4}},
	}
	check.Same(t, wantBands, got, "bands")
}

// TestLocalFigure: three items with one to three neighbours each.
func TestLocalFigure(t *testing.T) {
	s := local.Spec{Weight: 1, Fade: 0.5, Events: 3, Neighbours: 3}
	g := check.Get(local.NewGraph(&s, []int64{0, 1, 3, 6, 6}, []int32{1, 0, 2, 0, 1, 3},
		[]float32{4, 1, 8, 2, 16, 3}))(t)
	want := []map[string][]chart.Point{
		{"0.5ᵖ": {{X: 0, Y: 1}, {X: 1, Y: 0.5}, {X: 2, Y: 0.25}}},
		{
			"9 of 10 items below": {{X: 1, Y: 16}, {X: 2, Y: 3}, {X: 3, Y: 2}},
			"median item":         {{X: 1, Y: 8}, {X: 2, Y: 3}, {X: 3, Y: 2}},
			"1 of 10 items below": {{X: 1, Y: 4}, {X: 2, Y: 1}, {X: 3, Y: 2}},
		},
	}
	check.SameBy(t, nearly, want, pointsOf(localFigure(g, &s)), "local term")
}
