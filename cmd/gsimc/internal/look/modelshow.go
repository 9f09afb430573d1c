package look

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// ModelShow is `gsimc model show`.
type ModelShow struct {
	File string `arg:"" help:"Model file."`

	SVG string `name:"svg" writes:"into" placeholder:"DIR" help:"Draw the spectrum, the response and the local term to SVG files in this folder, which is made if it is missing."`
}

// Run checks the file as serve would, and describes it.
func (c *ModelShow) Run(a *cli.App) error {
	if err := data.PrepareSVG(c.SVG); err != nil {
		return err
	}
	m, err := cli.OpenModel("", c.File)
	if err != nil {
		return err
	}
	return errors.Join(c.show(a, m), m.Close())
}

func (c *ModelShow) show(a *cli.App, m *model.Model) error {
	d := m.Describe()
	if err := writeDescription(a.Stdout, &d); err != nil || c.SVG == "" {
		return err
	}
	return data.WriteSVG(a.Stdout, c.SVG, modelDrawings(m))
}

// The plots of writeDescription.
const (
	plotWidth  = 64 // columns; with the axis it fits a terminal of 80
	plotHeight = 6  // rows
)

// writeDescription prints a model: sizes, constants, provenance, and plots of the eigenvalues and
// of the filter's response to them. Lines have at most 80 columns, except those of long provenance
// values. The words are explained in docs/mathematics.md, where each constant has its symbol.
func writeDescription(w io.Writer, d *model.Description) error {
	var b bytes.Buffer
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-15s %s\n", name, fmt.Sprintf(format, args...))
	}
	s := &d.Spec
	line("version", "%s (file format %s)", d.Version, d.Format)
	line("items", "%d", d.Items)
	line("rank", "%d", d.Rank)
	line("training", "%s, %s", cli.Counted(d.Users, "user"),
		cli.Counted(d.Interactions, "interaction"))
	line("graph", "%s", graphText(s))
	line("rescaling", "by the number of users to the power %v", s.DegreeRescale)
	if d.Response != nil {
		describeFilter(line, d)
	} else {
		describeDynamics(line, d)
	}
	last := d.Rank - 1
	line("eigenvalues", "from %.6g to %.6g", d.Kappa[0], d.Kappa[last])
	line("frequencies", "from %.6g to %.6g", d.Lambda[0], d.Lambda[last])
	for _, key := range slices.Sorted(maps.Keys(s.Provenance)) {
		line(key, "%s", printable(s.Provenance[key]))
	}
	b.WriteString("\neigenvalues by index\n")
	plot(&b, d.Kappa, 0)
	if d.Response != nil {
		b.WriteString("\nresponse of the filter by index, from its least value\n")
		response := make([]float64, len(d.Response))
		for i, x := range d.Response {
			response[i] = float64(x)
		}
		plot(&b, response, slices.Min(response))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// describeFilter prints the constants of the paper's filter.
func describeFilter(line func(name, format string, args ...any), d *model.Description) {
	s := &d.Spec
	line("filter", "%s", s.Filter)
	line("response", "from %.6g to %.6g", slices.Max(d.Response), slices.Min(d.Response))
	line("forgetting", "%s", forgettingText(s))
	line("noise", "process %v, measurement %v", s.SigmaEta, s.SigmaNu)
	line("prior variance", "%s, %s", s.Covariance, rangeText(d.Prior))
}

// describeDynamics prints the constants of learned dynamics.
func describeDynamics(line func(name, format string, args ...any), d *model.Description) {
	s := &d.Spec.Dynamics
	line("dynamics", "learned, bands %s", kalman.FormatBands(s.Bands))
	positions := "all"
	if s.Positions > 0 {
		positions = fmt.Sprintf("the last %d", s.Positions)
	}
	line("regression", "ridge %v, %s positions of a user", s.Ridge, positions)
	describeLocal(line, &d.Spec.Local)
	if w := s.Popularity; w > 0 {
		line("popularity", "%.3g for each standard deviation of ln(1 + users)", w)
	}
	if t := d.Spec.Trend; t.HalfLife > 0 {
		line("trends", "half-life %.0f events, by spans of %v, power %g, gain %.3g", t.HalfLife,
			time.Duration(t.Span)*time.Second, t.Power, t.Gain)
	}
	if a := d.Spec.Again; !a.None() {
		line("again", "%s", a)
	}
	if d.Deviation == nil {
		line("deviation", "not tracked")
		return
	}
	line("deviation", "prior variance %s", rangeText(d.Prior))
	line("noise", "variance of one event %s", rangeText(d.Deviation.MeasurementNoise))
	line("drift", "variance per event %s,", rangeText(d.Deviation.ProcessNoise))
	line("", "and %.3g of that per second", d.Deviation.Drift)
	if c := d.Deviation.Calibration; c != nil {
		line("calibration", "squared errors %.2f to %.2f times the expected ones", slices.Min(c),
			slices.Max(c))
	}
	if d.Deviation.Withheld {
		line("uncertainty", "withheld: two halves of the validation users do not agree on it")
		return
	}
	line("tastes", "variance between users %s", rangeText(d.Deviation.Taste))
	line("uncertainty", "%s", uncertaintyText(d))
}

// describeLocal prints the constants of the local term.
func describeLocal(line func(name, format string, args ...any), s *local.Spec) {
	if s.None() {
		line("local term", "none")
		return
	}
	line("local term", "weight %.3g, the last %d events, each %v of the one after it",
		s.Weight, s.Events, s.Fade)
	line("", "%d neighbours of an item, %v of it for those before it", s.Neighbours, s.Backward)
	line("", "%v taken off each count of successions", s.Discount)
	line("", "damped by degree to the power %v, as neighbour %v", s.SourceExponent,
		s.TargetExponent)
}

// uncertaintyText says what events do to the uncertainty about a user. Without it scores still have
// a standard deviation.
func uncertaintyText(d *model.Description) string {
	if !d.TellsUncertainty {
		return "of scores (±), not of users: the data does not tell tastes apart"
	}
	return fmt.Sprintf("events bring it down to %.3g of that about a new user",
		d.Deviation.TasteFloor)
}

func rangeText(r model.Range) string { return fmt.Sprintf("from %.3g to %.3g", r.Low, r.High) }

func graphText(s *model.Spec) string {
	text := s.Graph
	if s.Graph == spectral.Hypergraph {
		text += fmt.Sprintf(", degree exponent %v", s.DegreeExponent)
	}
	if s.Window != 0 {
		text += fmt.Sprintf(", windows of %d events", s.Window)
	}
	return text
}

func forgettingText(s *model.Spec) string {
	var parts []string
	if s.Alpha != 1 {
		parts = append(parts, fmt.Sprintf("factor %v per event", s.Alpha))
	}
	if s.HalfLife != 0 {
		parts = append(parts, fmt.Sprintf("half-life %v seconds", s.HalfLife))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// printable keeps text from a file from moving the cursor or colouring the terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// plot draws values over their index as bars of eighths of a character, on a vertical axis from low
// to the largest value. If there are more values than columns, it draws evenly spaced ones, the
// first and the last among them.
func plot(b *bytes.Buffer, values []float64, low float64) {
	columns := make([]float64, min(len(values), plotWidth))
	for c := range columns {
		columns[c] = values[c*(len(values)-1)/max(len(columns)-1, 1)]
	}
	low, high := min(low, slices.Min(columns)), slices.Max(columns)
	if high == low {
		low = high - 1 // flat: full bars
	}
	const eighths = " ▁▂▃▄▅▆▇█"
	steps := []rune(eighths)
	for r := plotHeight - 1; r >= 0; r-- {
		label := ""
		switch r {
		case plotHeight - 1:
			label = fmt.Sprintf("%.4g", high)
		case 0:
			label = fmt.Sprintf("%.4g", low)
		}
		fmt.Fprintf(b, "%10s ┤", label)
		var bar strings.Builder
		for _, v := range columns {
			height := (v - low) / (high - low) * plotHeight * 8 // in eighths
			bar.WriteRune(steps[min(max(int(height+0.5)-8*r, 0), 8)])
		}
		b.WriteString(strings.TrimRight(bar.String(), " ") + "\n")
	}
	last := strconv.Itoa(len(values))
	fmt.Fprintf(b, "%10s └%s\n", "", strings.Repeat("─", len(columns)))
	fmt.Fprintf(b, "%10s  1%*s\n", "", max(len(columns)-1, len(last)+1), last)
}
