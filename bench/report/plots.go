package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/internal/chart"
)

// draw stores the curves as an SVG of the given name and returns the Markdown that shows it, or the
// empty string if nothing can be drawn. Both axes are logarithmic, since sizes and costs differ by
// powers of ten.
func (p *page) draw(name, title, x, y string, curves []chart.Curve) (string, error) {
	figure := chart.Figure{Title: title, Panels: []chart.Panel{{
		X: chart.Axis{Label: x, Log: true}, Y: chart.Axis{Label: y, Log: true}, Curves: curves,
	}}}
	svg := figure.SVG()
	if svg == nil {
		return "", nil
	}
	file := name + ".svg"
	if err := os.WriteFile(filepath.Join(p.folder, file), svg, 0o644); err != nil {
		return "", err
	}
	return fmt.Sprintf("![%s](benchmarks/%s)\n", title, file), nil
}

// collect makes a curve of each series name in the groups that want keeps, with x of the group and
// the median of the samples.
func collect(
	f *result.File, want func(*result.Group) bool, x func(*result.Group) float64,
) []chart.Curve {
	var curves []chart.Curve
	for i := range f.Groups {
		g := &f.Groups[i]
		if !want(g) {
			continue
		}
		for _, s := range g.Series {
			records := fmt.Sprintf(", %.0f record(s) in each", g.Params["callers"])
			name := strings.TrimSuffix(s.Name, records)
			at := slices.IndexFunc(curves, func(c chart.Curve) bool { return c.Name == name })
			if at < 0 {
				at = len(curves)
				curves = append(curves, chart.Curve{Name: name, Style: styleOf(&s), Marks: true})
			}
			point := chart.Point{X: x(g), Y: result.SpreadOf(s.Samples).Median}
			curves[at].Points = append(curves[at].Points, point)
		}
	}
	return curves
}

// styleOf draws every contestant of gsimc as ours, also one that takes the part of a peer, such as
// a plain scan.
func styleOf(s *result.Series) chart.Style {
	switch {
	case s.Role == result.Limit:
		return chart.Reference
	case isOurs(s):
		return chart.Ours
	}
	return chart.Other
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
	title := "Top 100 of random rows, one query"
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
	byUnit := map[string][]chart.Curve{}
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

func sweepCurve(s *loadtest.Series) chart.Curve {
	c := chart.Curve{Name: s.Name, Style: chart.Ours, Marks: true}
	for _, p := range s.Points {
		c.Points = append(c.Points, chart.Point{X: p.X, Y: p.Y.Median})
	}
	return c
}
