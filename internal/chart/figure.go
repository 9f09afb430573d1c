// Package chart draws curves as SVG, in one style: our curves coloured and above the others, those
// of others grey, references dashed, each with its name beside its end. Texts stay texts, the
// background is white, and the colours can be told apart by readers who do not see all of them.
package chart

import (
	"cmp"
	"math"
	"slices"
)

// Figure is a drawing of panels, one below the other, under a title.
type Figure struct {
	Title  string
	Note   string // a line below the title; may be empty
	Panels []Panel
}

// Panel is one pair of axes with its curves. The y axis has its label above it.
type Panel struct {
	X, Y   Axis
	Curves []Curve
}

// Axis is one axis of a panel. Its range is that of the points, with some room.
type Axis struct {
	Label string
	Log   bool // logarithmic: points that are not above zero are left out
}

// Curve is a line through points.
type Curve struct {
	Name   string // stands beside its last point
	Style  Style
	Marks  bool // a mark at each point
	Points []Point
}

// Point is a point of a curve. Points with NaN or an infinity are left out.
type Point struct {
	X, Y float64
	Err  float64 // half the length of a vertical bar; 0: no bar
}

// Style says how a curve is drawn.
type Style int

// The styles of curves.
const (
	Ours      Style = iota // thick, in a colour that no other curve of the panel has
	Other                  // grey, with marks of its own
	Reference              // dashed and dark
)

// drawable returns the panels that have points, each with the curves that have some.
func (f *Figure) drawable() []Panel {
	var kept []Panel
	for _, p := range f.Panels {
		if p.Curves = p.drawable(); len(p.Curves) > 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// drawable returns the curves that have a point on the axes, with these points by x. Our curves
// come last, so that they are drawn above the others.
func (p *Panel) drawable() []Curve {
	var kept []Curve
	for _, c := range p.Curves {
		c.Points = slices.DeleteFunc(slices.Clone(c.Points), func(at Point) bool {
			return !finite(at.X) || !finite(at.Y) || p.X.Log && at.X <= 0 || p.Y.Log && at.Y <= 0
		})
		if len(c.Points) == 0 {
			continue
		}
		for i := range c.Points {
			if !finite(c.Points[i].Err) {
				c.Points[i].Err = 0
			}
		}
		slices.SortStableFunc(c.Points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		kept = append(kept, c)
	}
	slices.SortStableFunc(kept, func(a, b Curve) int { return cmp.Compare(layer(a), layer(b)) })
	return kept
}

func layer(c Curve) int {
	if c.Style == Ours {
		return 1
	}
	return 0
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
