package main

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgsvg" // the format of the plots

	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/loadtest"
)

// line is one curve of a plot.
type line struct {
	name   string
	points plotter.XYs
	faint  bool // a limit rather than a contestant
}

// draw stores the lines as an SVG of the given name and returns the Markdown that shows it; without lines, nothing. Both axes
// are logarithmic, as costs are compared over sizes that differ by powers of ten: points that are not above zero are left out.
func (p *page) draw(name, title, x, y string, lines []line) (string, error) {
	plot.DefaultFont.Variant = "Sans"
	chart := plot.New()
	chart.Title.Text, chart.X.Label.Text, chart.Y.Label.Text = title, x, y
	chart.BackgroundColor = color.White
	chart.X.Scale, chart.Y.Scale = plot.LogScale{}, plot.LogScale{}
	chart.X.Tick.Marker, chart.Y.Tick.Marker = plot.TickerFunc(ticks), plot.TickerFunc(ticks)
	chart.Add(plotter.NewGrid())
	chart.Legend.Top, chart.Legend.Left = true, true
	chart.Legend.TextStyle.Font.Size, chart.Legend.Padding = vg.Points(8), vg.Points(1)
	drawn := 0
	for i, l := range lines {
		points := slices.DeleteFunc(slices.Clone(l.points), func(xy plotter.XY) bool { return !(xy.X > 0 && xy.Y > 0) })
		if len(points) == 0 {
			continue
		}
		slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		curve, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return "", err
		}
		curve.Color, marks.Color, marks.Shape = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i)
		curve.Width, marks.Radius = vg.Points(1.2), vg.Points(2.5)
		if l.faint {
			curve.Dashes = []vg.Length{vg.Points(3), vg.Points(3)}
			curve.Color, marks.Color, marks.Shape = color.Gray{128}, color.Gray{128}, draw.CrossGlyph{}
		}
		chart.Add(curve, marks)
		chart.Legend.Add(l.name, curve, marks)
		drawn++
	}
	if drawn == 0 {
		return "", nil
	}
	widen(&chart.X, 1.1)
	widen(&chart.Y, 1.2)
	// Room for the legend above the curves: a share of the height for each line of it.
	share := min(0.6, 0.045*float64(drawn))
	chart.Y.Max *= math.Pow(chart.Y.Max/chart.Y.Min, share/(1-share))
	file := name + ".svg"
	if err := chart.Save(18*vg.Centimeter, 11*vg.Centimeter, filepath.Join(p.folder, file)); err != nil {
		return "", err
	}
	return fmt.Sprintf("![%s](benchmarks/%s)\n", title, file), nil
}

// widen moves the ends of an axis apart, so that a single value has a range too.
func widen(a *plot.Axis, factor float64) { a.Min, a.Max = a.Min/factor, a.Max*factor }

// ticks marks 1, 2 and 5 of every power of ten, or 1 alone over more than four of them, in figures that people read.
func ticks(low, high float64) []plot.Tick {
	var marks []plot.Tick
	digits := []float64{1, 2, 5}
	if high > 1e4*low {
		digits = digits[:1]
	}
	for decade := 1e-9; decade <= high; decade *= 10 {
		for _, digit := range digits {
			if x := digit * decade; x >= low && x <= high {
				marks = append(marks, plot.Tick{Value: x, Label: short(x)})
			}
		}
	}
	return marks
}

// short writes 20000 as 20k.
func short(x float64) string {
	switch {
	case x >= 1e9:
		return fmt.Sprintf("%.4gG", x/1e9)
	case x >= 1e6:
		return fmt.Sprintf("%.4gM", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.4gk", x/1e3)
	}
	return fmt.Sprintf("%.4g", x)
}

// collect makes a line of each series name in the groups that want keeps, with x of a group and the median.
func collect(f *result.File, want func(*result.Group) bool, x func(*result.Group) float64) []line {
	var lines []line
	for i := range f.Groups {
		g := &f.Groups[i]
		if !want(g) {
			continue
		}
		for _, s := range g.Series {
			name := strings.TrimSuffix(s.Name, fmt.Sprintf(", %.0f record(s) in each", g.Params["callers"]))
			at := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
			if at < 0 {
				at = len(lines)
				lines = append(lines, line{name: name, faint: s.Role == result.Limit})
			}
			lines[at].points = append(lines[at].points, plotter.XY{X: x(g), Y: result.SpreadOf(s.Samples).Median})
		}
	}
	return lines
}

// plotSearch shows the time of one query over the size of the rows.
func (p *page) plotSearch(f *result.File) (string, error) {
	random := func(g *result.Group) bool {
		return g.Params["top"] == 100 && g.Params["batch"] == 1 && strings.HasPrefix(g.Title, "Gaussian")
	}
	size := func(g *result.Group) float64 { return 4 * g.Params["n"] * g.Params["k"] / 1e6 }
	return p.draw("topn", "Exact top 100 of random rows, one query", "float32 rows, MB", "ms", collect(f, random, size))
}

// plotAppends shows the events that become durable in a second over the number of concurrent callers.
func (p *page) plotAppends(f *result.File) (string, error) {
	single := func(g *result.Group) bool { return g.Params["batch"] == 1 && g.Params["served"] == 0 }
	callers := func(g *result.Group) float64 { return g.Params["callers"] }
	return p.draw("durability", "Durable appends, one event in a call", "concurrent callers", "events/s", collect(f, single, callers))
}

// plotSweep draws a sweep of gsimc bench, a plot for each unit.
func (p *page) plotSweep(r *loadReport) (string, error) {
	byUnit := map[string][]line{}
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
		byUnit[s.Unit] = append(byUnit[s.Unit], sweepLine(&s))
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

func sweepLine(s *loadtest.Series) line {
	l := line{name: s.Name}
	for _, p := range s.Points {
		l.points = append(l.points, plotter.XY{X: p.X, Y: p.Y.Median})
	}
	return l
}
