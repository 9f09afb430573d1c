package evaluate

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/chart"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/evaluate/breakdown"
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
	check.SameBy(t, nearly, want, pointsOf(f), "groups")
	if first := f.Panels[0].Curves[0]; first.Name != "dynamics" || first.Style != chart.Ours {
		t.Errorf("the first curve is %+v, want learned dynamics", first)
	}
	wantEnergy := []map[string][]chart.Point{{
		"history":          {{X: 1, Y: 0.6}, {X: 2, Y: 0.4}},
		"query made of it": {{X: 1, Y: 0.9}, {X: 2, Y: 0.1}},
	}}
	check.SameBy(t, nearly, wantEnergy, pointsOf(b.energyFigure()), "energy")
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
	check.SameBy(t, nearly, wantReliability, pointsOf(reliability), "reliability")
}
