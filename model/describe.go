package model

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gsimc/gsimc/spectral"
)

// The plots of Describe.
const (
	plotWidth  = 64 // columns; with the axis it fits a terminal of 80
	plotHeight = 6  // rows
)

// Describe prints what m is: sizes, parameters, provenance, and plots of the eigenvalues and of the filter's response to
// them, in at most 80 columns but for long provenance values.
func Describe(w io.Writer, m *Model) error {
	var b bytes.Buffer
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-15s %s\n", name, fmt.Sprintf(format, args...))
	}
	s := &m.spec
	line("version", "%s (file format %s)", m.version, formatVersion)
	line("items", "%d", m.n)
	line("rank", "%d", m.k)
	line("training", "%d users, %d interactions", s.TrainUsers, sum(m.degrees))
	line("graph", "%s", describeGraph(s))
	line("rescaling", "t = %v", s.DegreeRescale)
	m.describeMotion(line)
	line("eigenvalues", "κ from %.6g to %.6g, λ from %.6g to %.6g", m.kappa[0], m.kappa[m.k-1], m.lambda[0], m.lambda[m.k-1])
	for _, key := range slices.Sorted(maps.Keys(s.Provenance)) {
		line(key, "%s", printable(s.Provenance[key]))
	}
	b.WriteString("\neigenvalues κ by index\n")
	plot(&b, m.kappa, 0)
	if m.dynamics == nil {
		b.WriteString("\nresponse H(λ) by index, from its least value\n")
		plot(&b, toFloat64(m.response), float64(slices.Min(m.response)))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// describeMotion says by what law states move.
func (m *Model) describeMotion(line func(name, format string, args ...any)) {
	s, d := &m.spec, m.dynamics
	if d == nil {
		line("filter", "%s", s.Filter)
		line("response", "H from %.6g to %.6g", slices.Max(m.response), slices.Min(m.response))
		line("forgetting", "%s", describeForgetting(s))
		line("noise", "σ_η = %v, σ_ν = %v", s.SigmaEta, s.SigmaNu)
		line("prior", "%s, P_0 from %.3g to %.3g", s.Covariance, slices.Min(m.kalman.P0), slices.Max(m.kalman.P0))
		return
	}
	line("dynamics", "learned, bands %s", FormatBands(d.Bands))
	positions := "all"
	if s.Dynamics.Positions > 0 {
		positions = fmt.Sprintf("the last %d", s.Dynamics.Positions)
	}
	line("regression", "ridge %v, %s positions of a user", s.Dynamics.Ridge, positions)
	if !d.HasDeviation() {
		line("deviation", "not tracked")
		return
	}
	span := func(name string, v []float32) { line(name, "from %.3g to %.3g", slices.Min(v), slices.Max(v)) }
	span("P_0", d.P0)
	span("Σ_η", d.SigmaEta)
	span("Σ_ν", d.SigmaNu)
	line("drift", "%.3g of Σ_η per second", d.Drift)
	span("Σ_θ", d.SigmaTheta)
	line("floor", "%.3g of Σ_θ", d.ThetaFloor)
}

func describeGraph(s *Spec) string {
	text := s.Graph
	if s.Graph == spectral.Hypergraph {
		text += fmt.Sprintf(", s = %v", s.DegreeExponent)
	}
	if s.Window != 0 {
		text += fmt.Sprintf(", windows of %d events", s.Window)
	}
	return text
}

func describeForgetting(s *Spec) string {
	var parts []string
	if s.Alpha != 1 {
		parts = append(parts, fmt.Sprintf("α = %v per event", s.Alpha))
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

// plot draws values over their index as bars of eighths of a character, on a vertical axis from low to the largest value.
// With more values than columns it draws evenly spaced ones, the first and the last among them.
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

func sum[T int64 | float64](v []T) T {
	var s T
	for _, x := range v {
		s += x
	}
	return s
}

func toFloat64(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}
