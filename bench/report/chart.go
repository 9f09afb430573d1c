package main

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	labels "github.com/gsimc/gsimc/internal/chart"
)

// A curve is one line of a chart.
type curve struct {
	name   string
	points plotter.XYs
	style  style
}

// A style says how a curve is drawn: ours has a colour of its own, peers are grey, limits dashed.
type style int

const (
	ours style = iota
	peer
	limit
)

// palette has the colours of our curves, which no two curves of a chart share. They differ in
// lightness too, so that they can be told apart without colours.
var palette = []color.NRGBA{
	{0x0b, 0x5f, 0xb0, 255},
	{0xd9, 0x6a, 0x1c, 255},
	{0x1a, 0x8a, 0x5a, 255},
}

var (
	peerColor  = color.NRGBA{0x8a, 0x8a, 0x8a, 255}
	limitColor = color.NRGBA{0x45, 0x45, 0x45, 255}
	gridColor  = color.NRGBA{0xe4, 0xe4, 0xe4, 255}
)

// The measures of a chart. The plane has the same size in every chart, and the room of the labels
// beside it is as wide as the longest label.
const (
	planeWidth  = 15 * vg.Centimeter
	chartHeight = 10 * vg.Centimeter
	labelSize   = 9  // points
	labelStep   = 12 // least distance of two labels, points
	leader      = 16 // length of the line from the end of a curve to its label, points
	margin      = 6  // around the chart, points
)

// draw stores the curves as an SVG of the given name and returns the Markdown that shows it, or the
// empty string if nothing can be drawn. Both axes are logarithmic, since sizes and costs differ by
// powers of ten; points that are not above zero are left out. Each curve has its name at its end.
func (p *page) draw(name, title, x, y string, curves []curve) (string, error) {
	curves = drawable(curves)
	if len(curves) == 0 {
		return "", nil
	}
	chart := newChart(title, x, y)
	colors := make([]color.Color, len(curves))
	own := 0
	for i, c := range curves {
		line, marks, err := plotter.NewLinePoints(c.points)
		if err != nil {
			return "", err
		}
		line.Width, marks.Radius, marks.Shape = vg.Points(1), vg.Points(1.8), draw.CircleGlyph{}
		switch c.style {
		case ours:
			colors[i] = palette[own%len(palette)]
			line.Width, marks.Radius = vg.Points(2), vg.Points(2.8)
			own++
		case peer:
			colors[i] = peerColor
		case limit:
			colors[i] = limitColor
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		line.Color, marks.Color = colors[i], colors[i]
		chart.Add(line, marks)
	}
	widen(&chart.X, 1.1)
	widen(&chart.Y, 1.25)
	file := name + ".svg"
	if err := save(chart, curves, colors, filepath.Join(p.folder, file)); err != nil {
		return "", err
	}
	return fmt.Sprintf("![%s](benchmarks/%s)\n", title, file), nil
}

// drawable returns the curves that have a point on logarithmic axes, with these points by x. Our
// curves come last, so that they are drawn above the others.
func drawable(curves []curve) []curve {
	var kept []curve
	for _, c := range curves {
		c.points = slices.DeleteFunc(slices.Clone(c.points), func(xy plotter.XY) bool {
			return !(xy.X > 0 && xy.Y > 0)
		})
		if len(c.points) == 0 {
			continue
		}
		slices.SortFunc(c.points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		kept = append(kept, c)
	}
	slices.SortStableFunc(kept, func(a, b curve) int {
		return boolOrder(a.style == ours) - boolOrder(b.style == ours)
	})
	return kept
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

func newChart(title, x, y string) *plot.Plot {
	plot.DefaultFont.Variant = "Sans"
	chart := plot.New()
	chart.Title.Text, chart.X.Label.Text, chart.Y.Label.Text = title, x, y
	chart.Title.Padding = vg.Points(8)
	chart.BackgroundColor = color.White
	chart.X.Scale, chart.Y.Scale = plot.LogScale{}, plot.LogScale{}
	chart.X.Tick.Marker, chart.Y.Tick.Marker = plot.TickerFunc(ticks), plot.TickerFunc(ticks)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridColor, gridColor
	chart.Add(grid)
	return chart
}

// save draws the chart and the labels beside it.
func save(chart *plot.Plot, curves []curve, colors []color.Color, path string) error {
	text := chart.X.Tick.Label
	text.Font.Size = vg.Points(labelSize)
	text.XAlign, text.YAlign = draw.XLeft, draw.YCenter
	room := vg.Length(0)
	for _, c := range curves {
		room = max(room, text.Width(c.name))
	}
	// The width of a font that stands in for ours may be a little larger.
	room = room*1.06 + vg.Points(leader+margin)
	picture := vgsvg.New(planeWidth+room+2*margin, chartHeight+2*margin)
	all := draw.New(picture)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	plane := draw.Crop(all, margin, -room-margin, margin, -margin)
	chart.Draw(plane)

	data := chart.DataCanvas(plane)
	toX, toY := chart.Transforms(&data)
	ends := make([]vg.Point, len(curves))
	heights := make([]vg.Length, len(curves))
	for i, c := range curves {
		end := c.points[len(c.points)-1]
		ends[i] = vg.Point{X: toX(end.X), Y: toY(end.Y)}
		heights[i] = ends[i].Y
	}
	labels.Spread(heights, vg.Points(labelStep), data.Min.Y, data.Max.Y)
	edge := data.Max.X + vg.Points(leader)
	for i, c := range curves {
		thin := draw.LineStyle{Color: colors[i], Width: vg.Points(0.5)}
		all.StrokeLine2(thin, ends[i].X+vg.Points(4), ends[i].Y, edge-vg.Points(2), heights[i])
		text.Color = colors[i]
		if c.style == peer {
			text.Color = limitColor
		}
		all.FillText(text, vg.Point{X: edge, Y: heights[i]}, c.name)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = picture.WriteTo(file)
	return errors.Join(err, file.Close())
}

// leastRange is the least ratio of the ends of an axis, so that noise does not look like a trend.
const leastRange = 4

// widen moves the ends of an axis apart by the factor each, and further to leastRange.
func widen(a *plot.Axis, factor float64) {
	factor = max(factor, math.Sqrt(leastRange*a.Min/a.Max))
	a.Min, a.Max = a.Min/factor, a.Max*factor
}

// fewTicks is the number of ticks below which an axis gets finer ones.
const fewTicks = 3

// ticks marks 1, 2 and 5 of every power of ten, 1 alone over more than four powers of ten, and more
// digits where these are few.
func ticks(low, high float64) []plot.Tick {
	if high > 1e4*low {
		return ticksAt(low, high, 1)
	}
	marks := ticksAt(low, high, 1, 2, 5)
	if len(marks) < fewTicks {
		marks = ticksAt(low, high, 1, 1.5, 2, 3, 4, 5, 7)
	}
	return marks
}

// ticksAt marks the digits of every power of ten.
func ticksAt(low, high float64, digits ...float64) []plot.Tick {
	var marks []plot.Tick
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
