package chart

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// width returns an upper bound of the width of a text of a size, in pixels. The widths are those of
// DejaVu Sans, which is wider than the fonts that stand before it in a figure.
func width(text string, size float64) float64 {
	sum := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("ijlI.,:;|!'⁻ ", r):
			sum += 0.35
		case strings.ContainsRune("ftr()[]-/", r):
			sum += 0.42
		case strings.ContainsRune("mwMW@%=+±−<>", r):
			sum++
		case unicode.IsUpper(r):
			sum += 0.79
		default:
			sum += 0.65
		}
	}
	return sum * size
}

// spread moves heights apart until each two differ by step, keeping their order and, if there is
// room, staying between low and high.
func spread(heights []float64, step, low, high float64) {
	order := make([]int, len(heights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(heights[b], heights[a]) })
	ceiling := high
	for _, i := range order {
		heights[i] = min(heights[i], ceiling)
		ceiling = heights[i] - step
	}
	floor := low
	for _, i := range slices.Backward(order) {
		heights[i] = max(heights[i], floor)
		floor = heights[i] + step
	}
}
