// Package stat has the mean of a sample with its standard error, once for all measurements.
package stat

import "math"

// Mean returns the mean of independent values and its standard error, both 0 for no values.
func Mean(x []float64) (mean, stderr float64) {
	if len(x) == 0 {
		return 0, 0
	}
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	n := float64(len(x))
	return sum / n, StdErr(sum/n, squares/n, n)
}

// StdErr returns the standard error of the mean of n independent values, from their mean and the
// mean of their squares: the standard deviation of the sample over √n. It is 0 for fewer than two
// values.
func StdErr(mean, meanSquare, n float64) float64 {
	if n < 2 {
		return 0
	}
	return math.Sqrt(max(0, meanSquare-mean*mean) / (n - 1))
}

// Difference returns a − b, entry by entry.
func Difference(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range d {
		d[i] = a[i] - b[i]
	}
	return d
}
