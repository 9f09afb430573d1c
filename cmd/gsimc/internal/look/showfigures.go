package look

import (
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/internal/chart"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/local"
)

// modelDrawings are the figures of `model show --svg`.
func modelDrawings(m *model.Model) []data.Drawing {
	d := m.Describe()
	drawings := []data.Drawing{
		{Name: "spectrum", Figure: spectrumFigure(&d)},
		{Name: "response", Figure: responseFigure(m, &d)},
	}
	if g := m.LocalGraph(); g != nil {
		drawings = append(drawings, data.Drawing{
			Name: "local", Figure: localFigure(g, &d.Spec.Local),
		})
	}
	return drawings
}

// spectrumFigure shows the eigenvalues by index.
func spectrumFigure(d *model.Description) chart.Figure {
	curve := chart.Curve{Name: "κ"}
	for i, x := range d.Kappa {
		curve.Points = append(curve.Points, chart.Point{X: float64(i + 1), Y: x})
	}
	positive := slices.Min(d.Kappa) > 0
	return chart.Figure{
		Title: fmt.Sprintf("Eigenvalues of the item graph: %d of %s items", d.Rank,
			cli.Grouped(d.Items)),
		Panels: []chart.Panel{{
			X:      chart.Axis{Label: "index", Log: true},
			Y:      chart.Axis{Label: "eigenvalue κ", Log: positive},
			Curves: []chart.Curve{curve},
		}},
	}
}

// responseFigure shows what the model makes of each frequency.
func responseFigure(m *model.Model, d *model.Description) chart.Figure {
	gains := m.Gains()
	if gains == nil {
		curve := chart.Curve{Name: "H(λ)"}
		for i, h := range d.Response {
			curve.Points = append(curve.Points, chart.Point{X: d.Lambda[i], Y: float64(h)})
		}
		return chart.Figure{
			Title: "Response of the filter " + d.Spec.Filter.Name,
			Panels: []chart.Panel{{
				X: chart.Axis{Label: "frequency λ"}, Y: chart.Axis{Label: "response H(λ)"},
				Curves: []chart.Curve{curve},
			}},
		}
	}
	bands := d.Spec.Dynamics.Bands
	return chart.Figure{
		Title: "What an event adds to the query, by its frequency",
		Note:  "Each event fades a band by its factor ρ. Means of neighbouring eigenvectors.",
		Panels: []chart.Panel{
			{X: data.FrequencyAxis, Y: chart.Axis{Label: "at the same frequency: diagonal of W"},
				Curves: bandCurves(bands, gains.Same)},
			{X: data.FrequencyAxis,
				Y:      chart.Axis{Label: "at all frequencies: norms of columns of W"},
				Curves: bandCurves(bands, gains.All)},
		},
	}
}

// bandCurves returns the curve of each band by frequency.
func bandCurves(bands []kalman.Band, gains []float64) (curves []chart.Curve) {
	k := len(gains) / len(bands)
	for i := range bands {
		curves = append(curves, chart.Curve{
			Name: "ρ = " + kalman.FormatBands(bands[i:i+1]), Points: data.Smooth(gains[i*k:][:k]),
		})
	}
	return curves
}

// localFigure shows how the local term fades with the age of an event, and how large the entries of
// its graph are.
func localFigure(g *local.Graph, s *local.Spec) chart.Figure {
	fade := chart.Curve{Name: fmt.Sprintf("%vᵖ", s.Fade), Marks: true}
	for p := range g.Events() {
		fade.Points = append(fade.Points,
			chart.Point{X: float64(p), Y: float64(g.Factor(p, 1))})
	}
	var curves []chart.Curve
	for _, q := range []struct {
		name  string
		share float64
	}{{"9 of 10 items below", 0.9}, {"median item", 0.5}, {"1 of 10 items below", 0.1}} {
		curves = append(curves, chart.Curve{Name: q.name, Points: neighbourQuantiles(g, q.share)})
	}
	return chart.Figure{
		Title: "The local term: what recent events add to the scores of neighbours",
		Panels: []chart.Panel{
			{
				X:      chart.Axis{Label: "age p of the event: events after it"},
				Y:      chart.Axis{Label: "weight of an event"},
				Curves: []chart.Curve{fade},
			},
			{
				X:      chart.Axis{Label: "neighbours of an item, the strongest first", Log: true},
				Y:      chart.Axis{Label: "entry T of the graph, over all items", Log: true},
				Curves: curves,
			},
		},
	}
}

// neighbourQuantiles returns a quantile of the r-th largest entries, by r, of the rows that have r
// or more.
func neighbourQuantiles(g *local.Graph, share float64) (points []chart.Point) {
	var byRank [][]float64
	for i := range len(g.Ptr) - 1 {
		_, values := g.Row(int32(i))
		row := slices.Clone(values)
		slices.Sort(row)
		slices.Reverse(row)
		for r, v := range row {
			if r == len(byRank) {
				byRank = append(byRank, nil)
			}
			byRank[r] = append(byRank[r], float64(v))
		}
	}
	for r, values := range byRank {
		slices.Sort(values)
		at := int(math.Round(share * float64(len(values)-1)))
		points = append(points, chart.Point{X: float64(r + 1), Y: values[at]})
	}
	return points
}
