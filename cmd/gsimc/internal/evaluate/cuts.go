package evaluate

import (
	"fmt"
	"io"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/internal/chart"
	"github.com/gsimc/gsimc/learn/evaluate"
)

// evaluationOfCuts is the object that --json prints for several cuts.
type evaluationOfCuts struct {
	Cuts []evaluationByTime `json:"cuts"` // the oldest first
	All  figuresOfCuts      `json:"all"`
}

// figuresOfCuts are those of the targets of all cuts.
type figuresOfCuts struct {
	Targets int                           `json:"targets"`
	Methods map[string]map[string]float64 `json:"methods"`
	Changes []change                      `json:"changes"`
}

// change is by which part of itself the NDCG@10 of targets with a history changes from a method to
// another one.
type change struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Change float64 `json:"change"`
	Stderr float64 `json:"stderr"`
}

// changes compares the methods of a server. A model is not frozen at the first cut.
func changes(cuts []evaluate.Cut) (all []change) {
	for _, c := range []struct {
		cuts     []evaluate.Cut
		from, to string
	}{
		{cuts, evaluate.Dynamics, evaluate.Trending},
		{cuts[1:], evaluate.Frozen, evaluate.FrozenTrending},
		{cuts[1:], evaluate.Frozen, evaluate.Dynamics},
		{cuts[1:], evaluate.FrozenTrending, evaluate.Trending},
	} {
		if by, stderr, ok := evaluate.Change(c.cuts, c.from, c.to); ok {
			all = append(all, change{c.from, c.to, by, stderr})
		}
	}
	return all
}

func reportCuts(cuts []evaluate.Cut) figuresOfCuts {
	f := figuresOfCuts{Methods: map[string]map[string]float64{}, Changes: changes(cuts)}
	for _, p := range evaluate.Pool(cuts) {
		m := p.Figures()
		m["ndcg@10 spread"] = p.Spread
		m["ndcg@10 with history"], m["ndcg@10 with history stderr"] = p.Warm.NDCG, p.Warm.NDCGErr
		m["ndcg@10 without history"] = p.Cold.NDCG
		m["ndcg@10 without history stderr"] = p.Cold.NDCGErr
		f.Targets, f.Methods[p.Name] = len(p.Ranks), m
	}
	return f
}

// printCuts prints the results of all cuts together, and the NDCG@10 of each.
func printCuts(w io.Writer, cuts []evaluate.Cut) {
	rows := [][]string{{"method", "HR@10", "±", "NDCG@10", "±", "spread",
		"with history", "±", "without", "±"}}
	byCut := [][]string{{"NDCG@10 from"}}
	for _, c := range cuts {
		byCut[0] = append(byCut[0], time.Unix(c.Begin, 0).UTC().Format(time.DateOnly))
	}
	targets := 0
	for _, p := range evaluate.Pool(cuts) {
		ten := &p.Metrics[0]
		rows = append(rows, []string{p.Name, figure(ten.HR), figure(ten.HRErr), figure(ten.NDCG),
			figure(ten.NDCGErr), figure(p.Spread), figure(p.Warm.NDCG), figure(p.Warm.NDCGErr),
			figure(p.Cold.NDCG), figure(p.Cold.NDCGErr)})
		row := []string{p.Name}
		for _, m := range p.ByCut {
			row = append(row, figure(m.NDCG))
		}
		byCut, targets = append(byCut, row), len(p.Ranks)
	}
	fmt.Fprintf(w, "all %d cuts, %s targets:\n\n", len(cuts), cli.Grouped(targets))
	cli.PrintTable(w, rows, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	fmt.Fprint(w, `
± is the standard error by users, spread the standard deviation between cuts; with history and
without: the NDCG@10 of targets after events of their user and of others

`)
	var right []int
	for i := range cuts {
		right = append(right, i+1)
	}
	cli.PrintTable(w, byCut, right...)
	fmt.Fprintln(w)
	for _, c := range changes(cuts) {
		fmt.Fprintf(w, "%s over %s: %+.1f ± %.1f %% of NDCG@10, targets with a history\n", c.To,
			c.From, 100*c.Change, 100*c.Stderr)
	}
}

// drawAge draws the NDCG@10 of models that are made once or at each cut, and beside the best.
func (c *Cmd) drawAge(a *cli.App, cuts []evaluate.Cut) error {
	if c.SVG == "" {
		return nil
	}
	names := map[string]string{
		evaluate.Frozen: "frozen", evaluate.FrozenTrending: "frozen, with trends",
		evaluate.Dynamics: "trained again", evaluate.Trending: "trained again, with trends",
	}
	x := chart.Axis{Label: "days from the training of the frozen model"}
	panels := []chart.Panel{{X: x, Y: chart.Axis{Label: "NDCG@10"}}, {X: x, Y: chart.Axis{
		Label: "NDCG@10 of targets with a history, beside trained again with trends"}}}
	for _, p := range evaluate.Pool(cuts) {
		name, ok := names[p.Name]
		if !ok {
			continue
		}
		curves := [2]chart.Curve{{Name: name, Marks: true}, {Name: name, Marks: true}}
		for i, m := range p.ByCut {
			days := float64(cuts[i].Begin-cuts[0].Begin) / (24 * 60 * 60)
			change, stderr, _ := evaluate.Change(cuts[i:i+1], evaluate.Trending, p.Name)
			curves[0].Points = append(curves[0].Points,
				chart.Point{X: days, Y: m.NDCG, Err: m.NDCGErr})
			curves[1].Points = append(curves[1].Points,
				chart.Point{X: days, Y: 1 + change, Err: stderr})
		}
		for k := range panels {
			panels[k].Curves = append(panels[k].Curves, curves[k])
		}
	}
	return data.WriteSVG(c.notices(a), c.SVG, []data.Drawing{{Name: "age", Figure: chart.Figure{
		Title: "Accuracy by the age of the model",
		Note: fmt.Sprintf("Each point: %.3g %% of the events, from that time on. "+
			"Bars: ± one standard error by users.", 100*c.TestShare),
		Panels: panels,
	}}})
}
