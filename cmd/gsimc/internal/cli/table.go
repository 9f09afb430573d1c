package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PrintTable writes rows in aligned columns, each row indented by two spaces. The columns whose
// indices are in right hold numbers: their cells are set flush right.
func PrintTable(w io.Writer, rows [][]string, right ...int) {
	var width []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(width) {
				width = append(width, 0)
			}
			width[c] = max(width[c], utf8.RuneCountInString(Plain(cell)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for c, cell := range row {
			line.WriteString("  ")
			cell = Plain(cell)
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

// EnumText turns the name of an enum value of the protocol into words: with the prefix
// RESULT_SOURCE_, RESULT_SOURCE_NOT_KNOWN becomes "not known".
func EnumText(name, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "_", " ")
}

// ScoreText shows a score with six digits after the point, small ones in scientific form.
func ScoreText(x float64) string {
	if x != 0 && math.Abs(x) < 1e-4 {
		return fmt.Sprintf("%.2e", x)
	}
	return fmt.Sprintf("%.6f", x)
}

// IDText is an id in a line of a list: as it is, or in quotes with escapes if it could be taken for
// another id, or for two.
func IDText(id string) string {
	if strings.HasPrefix(id, `"`) || strings.TrimSpace(id) != id {
		return strconv.Quote(id)
	}
	return Plain(id)
}

// Plain is a text that a terminal shows: as it is, or in quotes with escapes if it could move the
// cursor, or worse.
func Plain(text string) string {
	if strings.ContainsFunc(text, moves) || !utf8.ValidString(text) {
		return strconv.QuoteToASCII(text)
	}
	return text
}

// moves reports whether r does not stand for itself, but moves the cursor or turns what follows.
func moves(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
