package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
)

// busyLoad is the load average of a core from which figures are not judged: something else ran too,
// and takes its share of every latency.
const busyLoad = 0.5

// busy returns the load average when the run began, and whether it is too high to judge figures by.
func busy(m *loadtest.Machine) (load float64, is bool) {
	words := strings.Fields(m.Load)
	if len(words) == 0 {
		return 0, false
	}
	load, err := strconv.ParseFloat(words[0], 64)
	return load, err == nil && load > busyLoad*float64(m.Cores)
}

// printReport prints a report for people: what it ran on, then a table for each group of series.
func printReport(w io.Writer, r *loadtest.Report) {
	m := r.Machine
	fmt.Fprintf(w, "machine   %s, %d cores, %s, kernel %s, %s, %s\n", m.CPU, m.Cores, m.Memory,
		m.Kernel, m.Go, m.Arch)
	fmt.Fprintf(w, "gsimc     %s, numerical kernels %s\n", m.Commit, m.Kernels)
	fmt.Fprintf(w, "date      %s, load averages %s\n", r.Date.Format("2006-01-02 15:04 MST"),
		m.Load)
	fmt.Fprintf(w, "command   %s\n", r.Command)
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note      %s\n", note)
	}
	load, isBusy := busy(&m)
	if isBusy {
		fmt.Fprintf(w, "note      Not judged: the load average was %.2g on %d cores, so that "+
			"other programs took part.\n", load, m.Cores)
	}
	if !r.Complete {
		fmt.Fprintln(w, "note      Not complete: the run ended before all was measured.")
	}
	for series := r.Series; len(series) > 0; {
		end := 1
		for end < len(series) && series[end].Group == series[0].Group {
			end++
		}
		fmt.Fprintf(w, "\n%s\n", series[0].Group)
		if series[0].X == "" {
			printFigures(w, series[:end], isBusy)
		} else {
			printLines(w, series[:end])
		}
		series = series[end:]
	}
}

// printFigures prints one row for each series, which has one point. On a busy machine limits are
// shown and not judged.
func printFigures(w io.Writer, series []loadtest.Series, isBusy bool) {
	rows := [][]string{{"", "median", "min", "max", "unit", "want", ""}}
	for _, s := range series {
		y := s.Points[0].Y
		unit, scale := readable(s.Unit, y.Median)
		want := ""
		if s.AtMost != nil {
			want = "at most " + number(*s.AtMost*scale)
		}
		if s.AtLeast != nil {
			want = "at least " + number(*s.AtLeast*scale)
		}
		rows = append(rows, []string{
			s.Name, number(y.Median * scale), number(y.Min * scale), number(y.Max * scale), unit,
			want, verdict(&s, isBusy),
		})
	}
	printTable(w, rows, 1, 2, 3)
}

// verdict says whether a series keeps its limits; empty: it has none.
func verdict(s *loadtest.Series, isBusy bool) string {
	met, known := s.Met()
	switch {
	case !known:
		return ""
	case isBusy:
		return "not judged"
	case met:
		return "met"
	}
	return "missed"
}

// printLines prints one row for each x, with the medians of the series.
func printLines(w io.Writer, series []loadtest.Series) {
	head := []string{series[0].X}
	var right []int
	scales := make([]float64, len(series))
	for i, s := range series {
		largest := slices.MaxFunc(s.Points, func(a, b loadtest.Point) int {
			return cmp.Compare(a.Y.Median, b.Y.Median)
		})
		unit, scale := readable(s.Unit, largest.Y.Median)
		scales[i] = scale
		head = append(head, s.Name+", "+unit)
		right = append(right, i+1)
	}
	rows := [][]string{head}
	for at, p := range series[0].Points {
		row := []string{strconv.FormatFloat(p.X, 'f', -1, 64)}
		for i, s := range series {
			row = append(row, number(s.Points[at].Y.Median*scales[i]))
		}
		rows = append(rows, row)
	}
	printTable(w, rows, append(right, 0)...)
}

// readable returns the unit in which a value is shown, and the factor from its own: 48,529 µs are
// 48.5 ms.
func readable(unit string, value float64) (string, float64) {
	switch {
	case unit != "µs" || value < 1e3:
		return unit, 1
	case value < 1e6:
		return "ms", 1e-3
	}
	return "s", 1e-6
}

// number formats a figure with three digits, or all that stand before the point.
func number(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x >= 100 || x <= -100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	text := strconv.FormatFloat(x, 'g', 3, 64)
	if strings.Contains(text, "e") {
		return strconv.FormatFloat(x, 'f', 6, 64)
	}
	return text
}

// printTable writes rows in aligned columns, each row indented by two spaces. The columns whose
// indices are in right hold numbers: their cells are set flush right.
func printTable(w io.Writer, rows [][]string, right ...int) {
	var width []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(width) {
				width = append(width, 0)
			}
			width[c] = max(width[c], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for c, cell := range row {
			line.WriteString("  ")
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(cell))
			if slices.Contains(right, c) {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
