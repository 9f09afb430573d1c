package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// The measures of a figure, in pixels. The planes are equally wide in every figure, and the room
// beside them is as wide as the longest name.
const (
	margin      = 12
	planeWidth  = 520
	planeHeight = 230 // at least; it grows with the number of names
	titleSize   = 16
	textSize    = 12.5
	tickSize    = 12
	lineHeight  = 18
	nameStep    = 16 // least distance of two names
	leader      = 22 // length of the line from the plane to a name
)

const (
	inkColor   = "#222222"
	otherColor = "#8a8a8a"
	nameColor  = "#555555" // of the names of grey curves
	gridColor  = "#e4e4e4"
)

// palette has the colours of our curves. They differ in lightness too.
var palette = []string{"#0b5fb0", "#d96a1c", "#1a8a5a", "#8e3f86", "#4aa8d8", "#7a5c00"}

// SVG returns the figure as a document, or nil if it has no point to draw.
func (f *Figure) SVG() []byte {
	panels := f.drawable()
	if len(panels) == 0 {
		return nil
	}
	left, right := 0.0, 0.0
	for i := range panels {
		l, r := panels[i].sides()
		left, right = max(left, l), max(right, r)
	}
	var body canvas
	left += margin
	y := float64(margin + titleSize)
	body.text(margin, y, titleSize, inkColor, "start", f.Title)
	if f.Note != "" {
		y += lineHeight
		body.text(margin, y, textSize, nameColor, "start", f.Note)
	}
	for i := range panels {
		y = panels[i].draw(&body, left, y+lineHeight)
	}
	wide := max(left+planeWidth+right, width(f.Title, titleSize)+margin,
		width(f.Note, textSize)+margin) + margin
	high := y + margin

	var out canvas
	out.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" `+
		`viewBox="0 0 %[1]s %[2]s" role="img" `+
		`font-family="Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif">`+"\n",
		px(math.Ceil(wide)), px(math.Ceil(high)))
	out.printf("<title>%s</title>\n", escape(f.Title))
	out.printf(`<rect width="100%%" height="100%%" fill="#ffffff"/>` + "\n")
	out.Write(body.Bytes())
	out.printf("</svg>\n")
	return out.Bytes()
}

// longBar: on a logarithmic axis the lower end of a bar is left out if the point is more than this
// many times above it.
const longBar = 5

// values returns the x and the y of all points of p, bars included.
func (p *Panel) values() (x, y []float64) {
	for _, c := range p.Curves {
		for _, at := range c.Points {
			x, y = append(x, at.X), append(y, at.Y)
			if at.Err != 0 {
				y = append(y, at.Y+at.Err)
				if low := at.Y - at.Err; !p.Y.Log || low > at.Y/longBar {
					y = append(y, low)
				}
			}
		}
	}
	return x, y
}

func (p *Panel) scales() (x, y scale) {
	xs, ys := p.values()
	return newScale(xs, p.X.Log, 0.02), newScale(ys, p.Y.Log, 0.06)
}

// sides returns the room that p needs beside its plane.
func (p *Panel) sides() (left, right float64) {
	_, y := p.scales()
	for _, tick := range y.ticks() {
		left = max(left, width(number(tick), tickSize))
	}
	for _, c := range p.Curves {
		right = max(right, width(c.Name, textSize))
	}
	return left + 8, max(right+leader, width(p.Y.Label, textSize)-planeWidth)
}

// draw draws p from a height on and returns the height of its lower end.
func (p *Panel) draw(c *canvas, left, top float64) float64 {
	top += 4
	c.text(left, top, textSize, inkColor, "start", p.Y.Label)
	top += 8
	bottom := top + max(planeHeight, nameStep*float64(len(p.Curves)))
	x, y := p.scales()
	x.from, x.to, y.from, y.to = left, left+planeWidth, bottom, top
	c.grid(&x, &y)
	colors := p.colors()
	others := 0
	for i := range p.Curves {
		shape := 0
		if p.Curves[i].Style == Other {
			shape = others % shapes
			others++
		}
		c.curve(&p.Curves[i], colors[i], shape, &x, &y)
	}
	p.names(c, colors, &x, &y)
	c.text((x.from+x.to)/2, bottom+2*lineHeight, textSize, inkColor, "middle", p.X.Label)
	return bottom + 2*lineHeight + 4
}

func (p *Panel) colors() []string {
	colors := make([]string, len(p.Curves))
	own := 0
	for i := range p.Curves {
		switch p.Curves[i].Style {
		case Ours:
			colors[i] = palette[own%len(palette)]
			own++
		case Reference:
			colors[i] = inkColor
		default:
			colors[i] = otherColor
		}
	}
	return colors
}

// names writes the name of each curve beside its end, with a thin line to it.
func (p *Panel) names(c *canvas, colors []string, x, y *scale) {
	heights := make([]float64, len(p.Curves))
	for i := range p.Curves {
		heights[i] = y.at(last(&p.Curves[i]).Y)
	}
	spread(heights, nameStep, y.to+nameStep/4, y.from-nameStep/4)
	for i := range p.Curves {
		end := last(&p.Curves[i])
		c.printf(`<path d="M%s,%sL%s,%sL%s,%s" fill="none" stroke="%s" stroke-width="0.6"/>`+"\n",
			px(x.at(end.X)+5), px(y.at(end.Y)), px(x.to+4), px(y.at(end.Y)),
			px(x.to+leader-3), px(heights[i]), colors[i])
		color := colors[i]
		if p.Curves[i].Style == Other {
			color = nameColor
		}
		c.text(x.to+leader, heights[i]+textSize*0.36, textSize, color, "start", p.Curves[i].Name)
	}
}

func last(c *Curve) Point { return c.Points[len(c.Points)-1] }

// canvas is the text of a drawing.
type canvas struct{ bytes.Buffer }

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// text writes a line that begins, ends or has its middle at x, by the anchor start, end or middle.
func (c *canvas) text(x, y, size float64, color, anchor, text string) {
	c.printf(`<text x="%s" y="%s" font-size="%s" fill="%s" text-anchor="%s">%s</text>`+"\n",
		px(x), px(y), px(size), color, anchor, escape(text))
}

func (c *canvas) grid(x, y *scale) {
	line := func(color string, x0, y0, x1, y1 float64) {
		c.printf(`<path d="M%s,%sL%s,%s" stroke="%s"/>`+"\n", px(x0), px(y0), px(x1), px(y1), color)
	}
	end := math.Inf(-1) // of the label before
	for _, tick := range x.ticks() {
		line(gridColor, x.at(tick), y.from, x.at(tick), y.to)
		label := number(tick)
		half := width(label, tickSize) / 2
		if x.at(tick)-half < end+4 {
			continue
		}
		end = x.at(tick) + half
		c.text(x.at(tick), y.from+lineHeight-2, tickSize, inkColor, "middle", label)
	}
	for _, tick := range y.ticks() {
		line(gridColor, x.from, y.at(tick), x.to, y.at(tick))
		c.text(x.from-6, y.at(tick)+tickSize*0.36, tickSize, inkColor, "end", number(tick))
	}
	line(otherColor, x.from, y.from, x.to, y.from)
	line(otherColor, x.from, y.from, x.from, y.to)
}

// curve draws the line of a curve, its bars and its marks.
func (c *canvas) curve(curve *Curve, color string, shape int, x, y *scale) {
	var d strings.Builder
	for i, at := range curve.Points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&d, "%s%s,%s", command, px(x.at(at.X)), px(y.at(at.Y)))
	}
	thick, radius, dashes := 1.2, 2.6, ""
	switch curve.Style {
	case Ours:
		thick, radius = 2.2, 3.4
	case Reference:
		dashes = ` stroke-dasharray="5 4"`
	}
	c.printf(`<path d="%s" fill="none" stroke="%s" stroke-width="%s" stroke-linejoin="round"%s/>`+
		"\n", d.String(), color, px(thick), dashes)
	for _, at := range curve.Points {
		if at.Err > 0 {
			c.bar(x.at(at.X), y.at(at.Y-at.Err), y.at(at.Y+at.Err), at.Y-at.Err >= y.low, color)
		}
		if curve.Marks || len(curve.Points) == 1 {
			c.mark(x.at(at.X), y.at(at.Y), radius, color, shape)
		}
	}
}

// bar draws a vertical bar with short lines at its ends: at the lower one only if it is shown.
func (c *canvas) bar(x, low, high float64, shown bool, color string) {
	foot := ""
	if shown {
		foot = fmt.Sprintf("M%s,%sH%s", px(x-3), px(low), px(x+3))
	}
	c.printf(`<path d="%sM%s,%sV%sM%s,%sH%s" fill="none" stroke="%s"/>`+"\n",
		foot, px(x), px(low), px(high), px(x-3), px(high), px(x+3), color)
}

// shapes is the number of shapes of marks.
const shapes = 4

// mark draws a circle, a square, a triangle or a diamond.
func (c *canvas) mark(x, y, radius float64, color string, shape int) {
	var corners [][2]float64
	switch shape {
	case 0:
		c.printf(`<circle cx="%s" cy="%s" r="%s" fill="%s"/>`+"\n", px(x), px(y), px(radius), color)
		return
	case 1:
		corners = [][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}
	case 2:
		corners = [][2]float64{{0, -1.4}, {1.3, 1}, {-1.3, 1}}
	default:
		corners = [][2]float64{{0, -1.5}, {1.5, 0}, {0, 1.5}, {-1.5, 0}}
	}
	var points strings.Builder
	for _, corner := range corners {
		fmt.Fprintf(&points, "%s,%s ", px(x+radius*corner[0]), px(y+radius*corner[1]))
	}
	c.printf(`<polygon points="%s" fill="%s"/>`+"\n", strings.TrimSpace(points.String()), color)
}

// px writes a number of pixels.
func px(x float64) string {
	s := fmt.Sprintf("%.2f", x)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func escape(text string) string {
	var b strings.Builder
	//nolint:errcheck // a Builder takes everything
	xml.EscapeText(&b, []byte(text))
	return b.String()
}
