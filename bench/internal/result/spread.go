package result

import "slices"

// Spread is the smallest, middle and largest of some samples.
type Spread struct{ Min, Median, Max float64 }

// SpreadOf returns the spread of samples; the median of an even number is the mean of the two in
// the middle. Without samples everything is 0.
func SpreadOf(samples []float64) Spread {
	if len(samples) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	half := len(sorted) / 2
	median := sorted[half]
	if len(sorted)%2 == 0 {
		median = (sorted[half-1] + sorted[half]) / 2
	}
	return Spread{Min: sorted[0], Median: median, Max: sorted[len(sorted)-1]}
}

// Ratio is the spread of a[r]/b[r] over the rounds r that both have.
func Ratio(a, b []float64) Spread {
	ratios := make([]float64, 0, min(len(a), len(b)))
	for r := range cap(ratios) {
		if b[r] != 0 {
			ratios = append(ratios, a[r]/b[r])
		}
	}
	return SpreadOf(ratios)
}
