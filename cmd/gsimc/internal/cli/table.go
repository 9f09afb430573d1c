package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// PrintTable writes rows in aligned columns, each row indented by two spaces. The columns whose indices
// are in right hold numbers: their cells are set flush right.
func PrintTable(w io.Writer, rows [][]string, right ...int) {
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
