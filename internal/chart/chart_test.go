package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
)

// shown is what the tests read of an SVG.
type shown struct {
	width, height float64
	texts         []text
	title         string
}

// text is a line of text with the box that it may take.
type text struct {
	content                  string
	left, right, top, bottom float64
}

// read parses an SVG. It fails the test if it is no XML, or has a number that is none.
func read(t *testing.T, svg []byte) (s shown) {
	t.Helper()
	check.MustSame(t, "", regexp.MustCompile(`NaN|Inf`).FindString(attributes(t, svg)),
		"numbers in the drawing that are none")
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	var open xml.StartElement
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return s
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = token.Copy()
			if open.Name.Local == "svg" {
				s.width, s.height = number64(t, open, "width"), number64(t, open, "height")
			}
		case xml.EndElement:
			open = xml.StartElement{}
		case xml.CharData:
			switch open.Name.Local {
			case "title":
				s.title = string(token)
			case "text":
				s.texts = append(s.texts, box(t, open, string(token)))
			}
		}
	}
}

// attributes returns all values of attributes.
func attributes(t *testing.T, svg []byte) string {
	t.Helper()
	var all strings.Builder
	for _, m := range regexp.MustCompile(`="[^"]*"`).FindAll(svg, -1) {
		all.Write(m)
	}
	return all.String()
}

func number64(t *testing.T, e xml.StartElement, name string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(attribute(e, name), 64)
	if err != nil {
		t.Fatalf("%s of %s: %v", name, e.Name.Local, err)
	}
	return x
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func box(t *testing.T, e xml.StartElement, content string) text {
	t.Helper()
	x, y, size := number64(t, e, "x"), number64(t, e, "y"), number64(t, e, "font-size")
	w := width(content, size)
	switch attribute(e, "text-anchor") {
	case "middle":
		x -= w / 2
	case "end":
		x -= w
	}
	return text{content, x, x + w, y - 0.7*size, y + 0.2*size}
}

// check fails the test if a text is outside of the drawing or touches another one.
func (s *shown) check(t *testing.T) {
	t.Helper()
	for i, a := range s.texts {
		if a.left < 0 || a.top < 0 || a.right > s.width || a.bottom > s.height {
			t.Errorf("%q at %+v is outside of %v × %v", a.content, a, s.width, s.height)
		}
		for _, b := range s.texts[:i] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Errorf("%q at %+v covers %q at %+v", a.content, a, b.content, b)
			}
		}
	}
}

func (s *shown) contents() (all []string) {
	for _, text := range s.texts {
		all = append(all, text.content)
	}
	return all
}

func TestSVG(t *testing.T) {
	f := Figure{
		Title: "Fish & <chips>", Note: "a note",
		Panels: []Panel{
			{X: Axis{Label: "x"}, Y: Axis{Label: "y"}, Curves: []Curve{
				{Name: "empty", Points: []Point{{X: math.NaN(), Y: 1}, {X: 1, Y: math.Inf(1)}}},
				{Name: "a < b", Marks: true, Points: []Point{{2, 0.5, 0.1}, {1, 0.25, math.NaN()}}},
			}},
			{X: Axis{Label: "nothing", Log: true}, Curves: []Curve{{Points: []Point{{0, 1, 0}}}}},
		},
	}
	s := read(t, f.SVG())
	s.check(t)
	want := []string{
		"Fish & <chips>", "a note", "y",
		"0", "0.5", "1", "1.5", "2", "0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6",
		"a < b", "x",
	}
	if diff := cmp.Diff(want, s.contents()); diff != "" || s.title != f.Title {
		t.Errorf("title %q, texts (-want +got):\n%s", s.title, diff)
	}
	if f.Panels = f.Panels[1:]; f.SVG() != nil {
		t.Error("a figure of no point")
	}
}

// Whatever the numbers are, the drawing is XML with finite numbers, and its texts are inside and
// apart.
func TestSVGRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		f := Figure{Title: "random"}
		for range 1 + rng.IntN(3) {
			f.Panels = append(f.Panels, randomPanel(rng))
		}
		if svg := f.SVG(); svg != nil {
			s := read(t, svg)
			s.check(t)
		}
	}
}

func randomPanel(rng *rand.Rand) Panel {
	p := Panel{
		X: Axis{"x", rng.IntN(2) == 0},
		Y: Axis{strings.Repeat("y", rng.IntN(200)), rng.IntN(2) == 0},
	}
	scale := math.Pow(10, float64(rng.IntN(25)-12))
	for range rng.IntN(30) {
		c := Curve{
			Name: strings.Repeat("W", rng.IntN(20)), Style: Style(rng.IntN(3)),
			Marks: rng.IntN(2) == 0,
		}
		for range rng.IntN(9) {
			at := Point{X: rng.NormFloat64(), Y: scale * rng.NormFloat64()}
			if rng.IntN(2) == 0 {
				at.Err = scale * rng.ExpFloat64()
			}
			c.Points = append(c.Points, at)
		}
		p.Curves = append(p.Curves, c)
	}
	return p
}

func TestScale(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []float64
		log    bool
		ticks  string
	}{
		{"from zero", []float64{0.01, 0.3}, false, "0 0.05 0.1 0.15 0.2 0.25 0.3"},
		{"not from zero", []float64{0.97, 0.974}, false, "0.97 0.971 0.972 0.973 0.974"},
		{"both signs", []float64{-1, 1}, false, "−1 −0.5 0 0.5 1"},
		{"one value", []float64{7}, false, "6 6.5 7 7.5 8"},
		{"equal but for rounding", []float64{7, 7.000000000000001}, false, "6 6.5 7 7.5 8"},
		{"small", []float64{0, 3e-5}, false, "0 5·10⁻⁶ 10⁻⁵ 1.5·10⁻⁵ 2·10⁻⁵ 2.5·10⁻⁵ 3·10⁻⁵"},
		{"decades", []float64{1, 400}, true, "1 2 5 10 20 50 100 200"},
		{"many decades", []float64{1e-6, 20000}, true,
			"10⁻⁶ 10⁻⁵ 10⁻⁴ 0.001 0.01 0.1 1 10 100 1000 10k"},
		{"no decade", []float64{30}, true, "15 20 30 40 50"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScale(test.values, test.log, 0.02)
			s.from, s.to = 10, 110
			var ticks []string
			for _, x := range s.ticks() {
				ticks = append(ticks, number(x))
				if at := s.at(x); at < 10 || at > 110 {
					t.Errorf("the tick of %v is at %v", x, at)
				}
			}
			check.Same(t, test.ticks, strings.Join(ticks, " "), "ticks")
			for _, v := range test.values {
				if at := s.at(v); at < 10 || at > 110 || v != 0 && (at == 10 || at == 110) {
					t.Errorf("%v is at %v", v, at)
				}
			}
		})
	}
	s := scale{log: true, low: 1, high: 100, from: 0, to: 200}
	if s.at(10) != 100 || s.at(-1) != 0 {
		t.Errorf("10 is at %v and −1 at %v, want 100 and 0", s.at(10), s.at(-1))
	}
}

// spread keeps the order and the step, and moves nothing that has room.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		heights := make([]float64, 1+rng.IntN(10))
		for i := range heights {
			heights[i] = 100 * rng.Float64()
		}
		got := append([]float64(nil), heights...)
		spread(got, 10, 0, 100)
		for i := range got {
			if got[i] < 0 || got[i] > 100 {
				t.Fatalf("%v of %v", got, heights)
			}
			for j := range i {
				if math.Abs(got[i]-got[j]) < 10-1e-9 ||
					(heights[i] < heights[j]) != (got[i] < got[j]) {
					t.Fatalf("%v of %v", got, heights)
				}
			}
		}
	}
	for _, c := range []struct{ heights, want []float64 }{
		{[]float64{70, 10, 40}, []float64{70, 10, 40}},
		{[]float64{50, 52, 51}, []float64{32, 52, 42}},
		{[]float64{1, 2, 0}, []float64{10, 20, 0}},
		{[]float64{120}, []float64{100}},
	} {
		spread(c.heights, 10, 0, 100)
		check.Same(t, c.want, c.heights, "moved")
	}
}
