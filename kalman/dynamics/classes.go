package dynamics

import (
	"cmp"
	"slices"
)

// Sizes of the classes of coordinates.
const (
	numClasses   = 10
	leastInClass = 4
)

// classScatter is how far the coordinates of a class are apart, as a share of their mean.
const classScatter = 0.1

// classes are groups of coordinates of like kurtosis. They lend each other what a sample of users
// does not tell of one coordinate alone.
type classes struct {
	of    [][]int   // coordinates, tenths by kurtosis or fewer classes if there are few
	bands [][]int   // coordinates, equal ranges of frequencies
	error []float64 // k: relative variance of the mean square of the residuals of the sample
	size  float64   // events of the sample
}

// newClasses takes the errors from the sample of LearnNoise. The squares of a user's residuals come
// together, so the scatter of their sums between users counts. It is pooled over a class.
func newClasses(spread *Spread, n *Noise) *classes {
	k := len(spread.Variance)
	all := make([]int, k)
	for j := range all {
		all[j] = j
	}
	c := &classes{
		of:    cut(spread.byKurtosis(all), max(1, min(numClasses, k/leastInClass))),
		bands: ranges(k),
		error: make([]float64, k),
		size:  float64(n.Measurements),
	}
	for _, class := range c.of {
		var square, scatter, kurtosis float64
		for _, j := range class {
			if unit := spread.Variance[j]; unit > 0 {
				square += n.Square[j] / unit
				scatter += n.SquareVariance[j] / unit / unit
				kurtosis += spread.Kurtosis[j]
			}
		}
		if square > 0 {
			for _, j := range class {
				c.error[j] = scatter * spread.Kurtosis[j] / kurtosis *
					float64(len(class)) * float64(len(class)) / (square * square)
			}
		}
	}
	return c
}

// pooled returns w·x + (1 − w)·m for all coordinates. x are means over a sample of events, in units
// in which the coordinates of a class are alike. w is the share of the scatter inside a class in
// that scatter and the error of the sample. m is what the coordinate's class and range of
// frequencies tell, see [classes.expected].
func (c *classes) pooled(x []float64, events float64) []float64 {
	m := c.expected(x, events)
	out := make([]float64, len(x))
	for j := range x {
		w := share(classScatter, c.error[j]*c.size/events)
		out[j] = float64(w*x[j]) + float64((1-w)*m[j])
	}
	return out
}

// share is the part of a scatter in all variance, if error is the rest of it.
func share(scatter, error float64) float64 { return scatter * scatter / (scatter*scatter + error) }

// expected returns the mean of x times a factor A for the class of a coordinate and a factor B for
// its range of frequencies. They make the mean of x over each class and each range right, and are
// drawn to 1 the more, the larger the errors of these means are:
//
//	A = 1 + w (mean of x/B over the class − 1)      B = 1 + w (mean of x/A over the range − 1)
func (c *classes) expected(x []float64, events float64) []float64 {
	k := len(x)
	mean := 0.0
	for _, v := range x {
		mean += v / float64(k)
	}
	m := slices.Repeat([]float64{mean}, k)
	if !(mean > 0) {
		return m
	}
	ofClass, ofRange := slices.Repeat([]float64{1}, k), slices.Repeat([]float64{1}, k)
	fit := func(groups [][]int, factor, other []float64) {
		for _, group := range groups {
			n, sum, error := float64(len(group)), 0.0, 0.0
			for _, j := range group {
				sum += x[j] / (mean * other[j])
				error += c.error[j] * c.size / events
			}
			f := 1 + float64(share(groupScatter, error/n/n)*(sum/n-1))
			for _, j := range group {
				factor[j] = max(f, leastFactor)
			}
		}
	}
	for range rakeRounds {
		fit(c.of, ofClass, ofRange)
		fit(c.bands, ofRange, ofClass)
	}
	for j := range m {
		m[j] *= ofClass[j] * ofRange[j]
	}
	return m
}

const (
	groupScatter = 0.5  // of the classes, and of the ranges of frequencies, around their mean
	leastFactor  = 1e-3 // of a group
	rakeRounds   = 10   // the factors have settled to a per cent
)

// ranges are equal ranges of coordinates, as those of Calibration.Bands, but with leastInClass or
// more each if there are as many.
func ranges(k int) [][]int {
	all := make([]int, k)
	for j := range all {
		all[j] = j
	}
	return cut(all, max(1, min(calibrationBands, k/leastInClass)))
}

// byKurtosis returns coordinates in the order of their kurtosis.
func (s *Spread) byKurtosis(coordinates []int) []int {
	return slices.SortedStableFunc(slices.Values(coordinates), func(a, b int) int {
		return cmp.Compare(s.Kurtosis[a], s.Kurtosis[b])
	})
}

// cut cuts a list into n parts of nearly equal length.
func cut(list []int, n int) [][]int {
	parts := make([][]int, n)
	for i := range parts {
		parts[i] = list[i*len(list)/n : (i+1)*len(list)/n]
	}
	return parts
}
