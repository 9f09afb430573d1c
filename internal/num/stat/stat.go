// Package stat has the mean of a sample with its standard error, and the n-th of its numbers, once
// for all measurements.
package stat

import (
	"cmp"
	"math"
)

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

// ClusterErr returns the standard error of a mean of n values that are independent only between
// clusters, from the summed deviations of each cluster from that mean: its square is the sum of
// their squares over n², times clusters/(clusters−1). It is 0 for fewer than two clusters.
func ClusterErr(deviations []float64, n int) float64 {
	clusters := float64(len(deviations))
	if clusters < 2 {
		return 0
	}
	var squares float64
	for _, d := range deviations {
		squares += float64(d * d)
	}
	return math.Sqrt(squares*clusters/(clusters-1)) / float64(n)
}

// ErrBy returns the standard error of the mean of values that are independent only between users:
// [ClusterErr] with the deviations of each user.
func ErrBy(users []int32, values []float64, mean float64) float64 {
	at := map[int32]int{} // in deviations, of each user
	var deviations []float64
	for t, user := range users {
		u, ok := at[user]
		if !ok {
			u = len(deviations)
			at[user], deviations = u, append(deviations, 0)
		}
		deviations[u] += values[t] - mean
	}
	return ClusterErr(deviations, len(values))
}

// Nth returns x[n] as if x were sorted (C. A. R. Hoare, Find, Communications of the ACM 4, 1961).
// It moves the smaller numbers before x[n], and the others behind it. x has no NaN. O(len(x)) but
// for orders that do not occur by chance.
func Nth[T cmp.Ordered](x []T, n int) T {
	for lo, hi := 0, len(x)-1; lo < hi; {
		pivot, i, j := x[lo+(hi-lo)/2], lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			hi = j
		case n >= i:
			lo = i
		default:
			return pivot
		}
	}
	return x[n]
}
