package main

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/bench/internal/result"
)

// collect makes a curve of each series name in the groups that want keeps, with x of the group and
// the median of the samples.
func collect(
	f *result.File, want func(*result.Group) bool, x func(*result.Group) float64,
) []curve {
	var curves []curve
	for i := range f.Groups {
		g := &f.Groups[i]
		if !want(g) {
			continue
		}
		for _, s := range g.Series {
			records := fmt.Sprintf(", %.0f record(s) in each", g.Params["callers"])
			name := strings.TrimSuffix(s.Name, records)
			at := slices.IndexFunc(curves, func(c curve) bool { return c.name == name })
			if at < 0 {
				at = len(curves)
				curves = append(curves, curve{name: name, style: styleOf(&s)})
			}
			xy := plotter.XY{X: x(g), Y: result.SpreadOf(s.Samples).Median}
			curves[at].points = append(curves[at].points, xy)
		}
	}
	return curves
}

// styleOf draws every contestant of gsimc as ours, also one that takes the part of a peer, such as
// a plain scan.
func styleOf(s *result.Series) style {
	switch {
	case s.Role == result.Limit:
		return limit
	case isOurs(s):
		return ours
	}
	return peer
}

// isOurs reports whether a contestant is of gsimc.
func isOurs(s *result.Series) bool {
	return s.Role == result.Own || strings.HasPrefix(s.Name, "gsimc ")
}

// plotSearch shows the time of one query over the size of the rows.
func (p *page) plotSearch(f *result.File) (string, error) {
	random := func(g *result.Group) bool {
		gaussian := strings.HasPrefix(g.Title, "Gaussian")
		return gaussian && g.Params["top"] == 100 && g.Params["batch"] == 1
	}
	size := func(g *result.Group) float64 { return 4 * g.Params["n"] * g.Params["k"] / 1e6 }
	title := "Exact top 100 of random rows, one query"
	return p.draw("topn", title, "float32 rows, MB", "ms", collect(f, random, size))
}

// plotAppends shows the events that become durable in a second over the number of concurrent
// callers.
func (p *page) plotAppends(f *result.File) (string, error) {
	single := func(g *result.Group) bool {
		return g.Params["batch"] == 1 && g.Params["served"] == 0
	}
	callers := func(g *result.Group) float64 { return g.Params["callers"] }
	title := "Durable appends, one event in a call"
	return p.draw("durability", title, "concurrent callers", "events/s",
		collect(f, single, callers))
}

// plotSweep draws a sweep of load, a chart for each unit.
func (p *page) plotSweep(r *loadReport) (string, error) {
	byUnit := map[string][]curve{}
	var units []string
	x := ""
	for _, s := range r.Series {
		if s.X == "" {
			continue
		}
		x = s.X
		if !slices.Contains(units, s.Unit) {
			units = append(units, s.Unit)
		}
		byUnit[s.Unit] = append(byUnit[s.Unit], sweepCurve(&s))
	}
	var text strings.Builder
	for _, unit := range units {
		name := r.Name + "-" + strings.NewReplacer("µs", "us", "/", "-per-").Replace(unit)
		image, err := p.draw(name, "Cost over "+x, x, unit, byUnit[unit])
		if err != nil {
			return "", err
		}
		text.WriteString(image)
	}
	return text.String(), nil
}

func sweepCurve(s *loadtest.Series) curve {
	c := curve{name: s.Name, style: ours}
	for _, p := range s.Points {
		c.points = append(c.points, plotter.XY{X: p.X, Y: p.Y.Median})
	}
	return c
}
