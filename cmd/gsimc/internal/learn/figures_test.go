package learn

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/chart"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/evaluate/breakdown"
	"github.com/gsimc/gsimc/model"
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
	d := shown(t, shownSpec(), 9, 3, model.Histories{})
	want := []map[string][]chart.Point{{"κ": {
		{X: 1, Y: 1}, {X: 2, Y: 1 / math.Sqrt(2)}, {X: 3, Y: 1 / math.Sqrt(3)},
	}}}
	if diff := cmp.Diff(want, pointsOf(spectrumFigure(&d)), nearly); diff != "" {
		t.Errorf("spectrum (-want +got):\n%s", diff)
	}
	bands := []kalman.Band{{Rho: 0}, {Rho: 0.5, HalfLife: 3600}}
	got := map[string][]chart.Point{}
	for _, c := range bandCurves(bands, []float64{1, 2, 3, 4}) {
		got[c.Name] = c.Points
	}
	wantBands := map[string][]chart.Point{
		"ρ = 0": {{X: 1, Y: 1}, {X: 2, Y: 2}}, "ρ = 0.5@1h0m0s": {{X: 1, Y: 3}, {X: 2, Y: 4}},
	}
	if diff := cmp.Diff(wantBands, got); diff != "" {
		t.Errorf("bands (-want +got):\n%s", diff)
	}
}

// TestLocalFigure: three items with one to three neighbours each.
func TestLocalFigure(t *testing.T) {
	s := local.Spec{Weight: 1, Fade: 0.5, Events: 3, Neighbours: 3}
	g, err := local.NewGraph(&s, []int64{0, 1, 3, 6, 6}, []int32{1, 0, 2, 0, 1, 3},
		[]float32{4, 1, 8, 2, 16, 3})
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string][]chart.Point{
		{"0.5ᵖ": {{X: 0, Y: 1}, {X: 1, Y: 0.5}, {X: 2, Y: 0.25}}},
		{
			"9 of 10 items below": {{X: 1, Y: 16}, {X: 2, Y: 3}, {X: 3, Y: 2}},
			"median item":         {{X: 1, Y: 8}, {X: 2, Y: 3}, {X: 3, Y: 2}},
			"1 of 10 items below": {{X: 1, Y: 4}, {X: 2, Y: 1}, {X: 3, Y: 2}},
		},
	}
	if diff := cmp.Diff(want, pointsOf(localFigure(g, &s)), nearly); diff != "" {
		t.Errorf("local term (-want +got):\n%s", diff)
	}
}

func TestEvaluationFigures(t *testing.T) {
	metric := func(x float64) evaluate.Metric {
		return evaluate.Metric{N: 10, HR: x, NDCG: x / 2, HRErr: x / 10, NDCGErr: x / 20}
	}
	b := breakdowns{
		users: 90, methods: []string{"vsknn", "gs-imc power", "dynamics"},
		byLength: []breakdown.Group{
			{From: 1, To: 1, Mean: 1, Users: 40,
				Metrics: []evaluate.Metric{metric(0.1), metric(0.2), metric(0.3)}},
			{From: 2, To: 9, Mean: 4, Users: 50,
				Metrics: []evaluate.Metric{metric(0.4), metric(0.5), metric(0.6)}},
		},
		energies: []methodEnergy{{"gs", &breakdown.Energy{
			Before: []float64{0.6, 0.4}, After: []float64{0.9, 0.1},
		}}},
	}
	f := b.groupFigure("by length", b.byLength, chart.Axis{Log: true})
	want := []map[string][]chart.Point{
		{
			"vsknn":        {{X: 1, Y: 0.1}, {X: 4, Y: 0.4}},
			"gs-imc power": {{X: 1, Y: 0.2, Err: 0.02}, {X: 4, Y: 0.5, Err: 0.05}},
			"dynamics":     {{X: 1, Y: 0.3, Err: 0.03}, {X: 4, Y: 0.6, Err: 0.06}},
		},
		{
			"vsknn":        {{X: 1, Y: 0.05}, {X: 4, Y: 0.2}},
			"gs-imc power": {{X: 1, Y: 0.1, Err: 0.01}, {X: 4, Y: 0.25, Err: 0.025}},
			"dynamics":     {{X: 1, Y: 0.15, Err: 0.015}, {X: 4, Y: 0.3, Err: 0.03}},
		},
	}
	if diff := cmp.Diff(want, pointsOf(f), nearly); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if first := f.Panels[0].Curves[0]; first.Name != "dynamics" || first.Style != chart.Ours {
		t.Errorf("the first curve is %+v, want learned dynamics", first)
	}
	wantEnergy := []map[string][]chart.Point{{
		"history":          {{X: 1, Y: 0.6}, {X: 2, Y: 0.4}},
		"query made of it": {{X: 1, Y: 0.9}, {X: 2, Y: 0.1}},
	}}
	if diff := cmp.Diff(wantEnergy, pointsOf(b.energyFigure()), nearly); diff != "" {
		t.Errorf("energy (-want +got):\n%s", diff)
	}
	reliability := reliabilityFigure(calibrated{"dynamics", &evaluate.Reliability{
		Target: []evaluate.Tenth{{Variance: 2, Error: 3, ErrorErr: 0.5}},
		Random: []evaluate.Tenth{{Variance: 1, Error: -1, ErrorErr: 2}, {Variance: 4, Error: 5}},
	}})
	wantReliability := []map[string][]chart.Point{
		{
			"measured":     {{X: 1, Y: -1, Err: 2}, {X: 4, Y: 5}},
			"as predicted": {{X: 1, Y: 1}, {X: 4, Y: 4}},
		},
		{"measured": {{X: 2, Y: 3, Err: 0.5}}, "as predicted": {{X: 2, Y: 2}}},
	}
	if diff := cmp.Diff(wantReliability, pointsOf(reliability), nearly); diff != "" {
		t.Errorf("reliability (-want +got):\n%s", diff)
	}
}
