package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/internal/chart"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/evaluate/breakdown"
	"github.com/gsimc/gsimc/model"
)

// breakdowns are the figures of the methods by groups of test users.
type breakdowns struct {
	users      int
	methods    []string
	byLength   []breakdown.Group
	byPopular  []breakdown.Group
	energies   []methodEnergy
	calibrated []calibrated
}

type methodEnergy struct {
	name string
	*breakdown.Energy
}

type calibrated struct {
	name string
	*evaluate.Reliability
}

func newBreakdowns(part *dataset.Partition, results []evaluate.Result) *breakdowns {
	b := &breakdowns{
		users:     part.Test.Len(),
		byLength:  breakdown.ByHistoryLength(part, results),
		byPopular: breakdown.ByPopularity(part, results),
	}
	for i := range results {
		b.methods = append(b.methods, results[i].Name)
		if c := results[i].Calibration; c != nil && c.Reliability != nil {
			b.calibrated = append(b.calibrated, calibrated{results[i].Name, c.Reliability})
		}
	}
	return b
}

// addEnergies adds the energies of the filters of GS-IMC among the methods. learned is that of
// learned dynamics, nil for none.
func (b *breakdowns) addEnergies(
	part *dataset.Partition, opt *evaluate.Options, results []evaluate.Result,
	learned *breakdown.Energy,
) {
	spec := &opt.Paper.Spec
	for i := range results {
		filter := spec.Filter
		name, found := strings.CutPrefix(results[i].Name, evaluate.GS+" ")
		switch {
		case found:
			filter.Name = name
		case results[i].Name == evaluate.BestGS:
			filter.Name = results[i].Variant
		case results[i].Name == evaluate.Dynamics && learned != nil:
			b.energies = append(b.energies, methodEnergy{results[i].Name, learned})
			continue
		default:
			continue
		}
		b.energies = append(b.energies, methodEnergy{
			evaluate.GS + " " + filter.Name,
			breakdown.FilterEnergy(part, opt.Paper.Basis, spec.DegreeRescale, filter),
		})
	}
}

// groupFigures is a group of test users as --json prints it.
type groupFigures struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Mean  float64 `json:"mean"`
	Users int     `json:"users"`

	// Methods maps a method's name to hr@10, ndcg@10 and their standard errors.
	Methods map[string]map[string]float64 `json:"methods"`
}

func (b *breakdowns) json(groups []breakdown.Group) (out []groupFigures) {
	for _, g := range groups {
		f := groupFigures{From: g.From, To: g.To, Mean: g.Mean, Users: g.Users,
			Methods: map[string]map[string]float64{}}
		for i, name := range b.methods {
			r := evaluate.Result{Metrics: g.Metrics[i : i+1]}
			f.Methods[name] = r.Figures()
		}
		out = append(out, f)
	}
	return out
}

// drawings are the figures of `evaluate --svg`.
func (b *breakdowns) drawings() []data.Drawing {
	all := []data.Drawing{
		{Name: "history-length", Figure: b.groupFigure(
			"Accuracy by length of the history", b.byLength,
			chart.Axis{Label: "events before the target, mean of the group", Log: true})},
		{Name: "popularity", Figure: b.groupFigure(
			"Accuracy by popularity of the target", b.byPopular,
			chart.Axis{Label: "training users of the target, mean of the group", Log: true})},
		{Name: "energy", Figure: b.energyFigure()},
	}
	for _, c := range b.calibrated {
		all = append(all, data.Drawing{Name: "reliability", Figure: reliabilityFigure(c)})
	}
	return all
}

// groupFigure shows HR@10 and NDCG@10 of all methods by group.
func (b *breakdowns) groupFigure(
	title string, groups []breakdown.Group, x chart.Axis,
) chart.Figure {
	f := chart.Figure{
		Title: fmt.Sprintf("%s, %s test users", title, cli.Grouped(b.users)),
		Note: fmt.Sprintf("Groups of %d users or more. Bars: ± one standard error; "+
			"those of grey curves are about as long.", breakdown.LeastUsers),
		Panels: []chart.Panel{
			{X: x, Y: chart.Axis{Label: "HR@10"}}, {X: x, Y: chart.Axis{Label: "NDCG@10"}},
		},
	}
	for _, i := range b.order() {
		style := chart.Other
		if ours(b.methods[i]) {
			style = chart.Ours
		}
		curves := [2]chart.Curve{}
		for c := range curves {
			curves[c] = chart.Curve{Name: b.methods[i], Style: style, Marks: true}
		}
		for _, g := range groups {
			m := g.Metrics[i]
			hr := chart.Point{X: g.Mean, Y: m.HR, Err: m.HRErr}
			ndcg := chart.Point{X: g.Mean, Y: m.NDCG, Err: m.NDCGErr}
			if style == chart.Other {
				hr.Err, ndcg.Err = 0, 0
			}
			curves[0].Points = append(curves[0].Points, hr)
			curves[1].Points = append(curves[1].Points, ndcg)
		}
		for c := range curves {
			f.Panels[c].Curves = append(f.Panels[c].Curves, curves[c])
		}
	}
	return f
}

// order returns the methods with learned dynamics first, so that they have the same colour in all
// figures.
func (b *breakdowns) order() (order []int) {
	for i, method := range b.methods {
		at := len(order)
		if method == evaluate.Dynamics {
			at = 0
		}
		order = slices.Insert(order, at, i)
	}
	return order
}

// ours tells whether a method is a model of this program.
func ours(method string) bool {
	family, _, _ := strings.Cut(method, " ")
	return slices.Contains([]string{
		evaluate.Dynamics, evaluate.GS, evaluate.BestGS, evaluate.BGS, evaluate.BGSOnline,
	}, family)
}

// energyFigure shows the energy of histories before and after the methods that filter them.
func (b *breakdowns) energyFigure() chart.Figure {
	f := chart.Figure{
		Title: "Energy of the test users' histories by frequency",
		Note:  "Share of the sum of squares on one eigenvector; means of neighbouring ones.",
	}
	for _, e := range b.energies {
		f.Panels = append(f.Panels, chart.Panel{
			X: data.FrequencyAxis,
			Y: chart.Axis{Label: e.name + ": share of the energy", Log: true},
			Curves: []chart.Curve{
				{Name: "history", Style: chart.Other, Points: data.Smooth(e.Before)},
				{Name: "query made of it", Points: data.Smooth(e.After)},
			},
		})
	}
	return f
}

// reliabilityFigure shows the squared errors of scores by predicted variance.
func reliabilityFigure(c calibrated) chart.Figure {
	panel := func(items string, tenths []evaluate.Tenth) chart.Panel {
		measured := chart.Curve{Name: "measured", Marks: true}
		right := chart.Curve{Name: "as predicted", Style: chart.Reference}
		negative := 0
		for _, t := range tenths {
			if t.Error <= 0 {
				negative++
			}
			measured.Points = append(measured.Points,
				chart.Point{X: t.Variance, Y: t.Error, Err: t.ErrorErr})
			right.Points = append(right.Points, chart.Point{X: t.Variance, Y: t.Variance})
		}
		label := "mean squared error, " + items
		if negative > 0 {
			label += fmt.Sprintf(" (tenths below zero, which is noise: %d of %d)", negative,
				len(tenths))
		}
		return chart.Panel{
			X:      chart.Axis{Label: "predicted variance, mean of a tenth of scores", Log: true},
			Y:      chart.Axis{Label: label, Log: true},
			Curves: []chart.Curve{right, measured},
		}
	}
	return chart.Figure{
		Title: "Are the variances of scores right? " + c.name,
		Note:  "Bars: ± one standard error.",
		Panels: []chart.Panel{
			panel("random items", c.Random),
			panel("items that users took two events later", c.Target),
		},
	}
}

// fittedEnergy returns a callback of [evaluate.Options] that stores the energy of learned dynamics.
func fittedEnergy(
	part *dataset.Partition, opt *evaluate.Options, energy **breakdown.Energy,
) func(m *model.Model) {
	return func(m *model.Model) {
		if m.Spec().Dynamics.Kind == model.DynamicsLearned {
			*energy = breakdown.DynamicsEnergy(part, opt.Learned.Basis, m)
		}
	}
}
