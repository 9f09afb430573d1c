package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// printTable writes rows in aligned columns, each indented by two spaces. right is the set of columns that are numbers:
// their cells are set flush right.
func printTable(w io.Writer, rows [][]string, right ...int) {
	width := map[int]int{}
	for _, c := range right {
		for _, row := range rows {
			if c < len(row) {
				width[c] = max(width[c], utf8.RuneCountInString(row[c]))
			}
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for c, cell := range row {
			if n, ok := width[c]; ok {
				cell = strings.Repeat(" ", n-utf8.RuneCountInString(cell)) + cell
			}
			if c > 0 {
				cell = "\t" + cell
			} else {
				cell = "  " + cell
			}
			_, _ = io.WriteString(tw, cell)
		}
		_, _ = io.WriteString(tw, "\n")
	}
	_ = tw.Flush()
}

// bytesText formats a size in binary units.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
