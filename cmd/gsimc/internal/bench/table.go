package bench

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/gsimc/gsimc/loadtest"
)

// printReport prints what a report says for people: what it ran on, then a table for each group of series.
func printReport(w io.Writer, r *loadtest.Report) {
	m := r.Machine
	fmt.Fprintf(w, "machine   %s, %d cores, %s, kernel %s, %s, %s\n", m.CPU, m.Cores, m.Memory, m.Kernel, m.Go, m.Arch)
	fmt.Fprintf(w, "gsimc     %s, numerical kernels %s\n", m.Commit, m.Kernels)
	fmt.Fprintf(w, "date      %s, load averages %s\n", r.Date.Format("2006-01-02 15:04 MST"), m.Load)
	fmt.Fprintf(w, "command   %s\n", r.Command)
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note      %s\n", note)
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
			printFigures(w, series[:end])
		} else {
			printLines(w, series[:end])
		}
		series = series[end:]
	}
}

// printFigures prints one row for each series, which has one point.
func printFigures(w io.Writer, series []loadtest.Series) {
	rows := [][]string{{"", "median", "min", "max", "unit", "want", ""}}
	for _, s := range series {
		y := s.Points[0].Y
		want, verdict := "", ""
		if s.AtMost != nil {
			want = "at most " + number(*s.AtMost)
		}
		if s.AtLeast != nil {
			want = "at least " + number(*s.AtLeast)
		}
		if met, known := s.Met(); known && met {
			verdict = "met"
		} else if known {
			verdict = "missed"
		}
		rows = append(rows, []string{s.Name, number(y.Median), number(y.Min), number(y.Max), s.Unit, want, verdict})
	}
	cli.PrintTable(w, rows, 1, 2, 3)
}

// printLines prints one row for each x, with the medians of the series.
func printLines(w io.Writer, series []loadtest.Series) {
	head := []string{series[0].X}
	right := []int{0}
	for i, s := range series {
		head = append(head, s.Name+", "+s.Unit)
		right = append(right, i+1)
	}
	rows := [][]string{head}
	for at, p := range series[0].Points {
		row := []string{strconv.FormatFloat(p.X, 'f', -1, 64)}
		for _, s := range series {
			row = append(row, number(s.Points[at].Y.Median))
		}
		rows = append(rows, row)
	}
	cli.PrintTable(w, rows, right...)
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
