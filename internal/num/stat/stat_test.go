package stat_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/internal/test/check"
)

func TestMean(t *testing.T) {
	mean, stderr := stat.Mean([]float64{1, 2, 3, 6})
	want := math.Sqrt((4.0 + 1 + 0 + 9) / 3 / 4) // the standard deviation of the sample over √4
	if mean != 3 || math.Abs(stderr-want) > 1e-12 {
		t.Errorf("got %v ± %v, want 3 ± %v", mean, stderr, want)
	}
	for _, x := range [][]float64{nil, {0}} {
		if mean, stderr := stat.Mean(x); mean != 0 || stderr != 0 {
			t.Errorf("%v: got %v ± %v, want 0 ± 0", x, mean, stderr)
		}
	}
	if d := stat.Difference([]float64{3, 1}, []float64{1, 2}); d[0] != 2 || d[1] != -1 {
		t.Errorf("the difference is %v", d)
	}
}

// Numbers of few values have ties.
func TestNthAgainstSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for size := 1; size < 60; size++ {
		x := make([]float32, size)
		for i := range x {
			x[i] = float32(rng.IntN(1 + rng.IntN(2*size)))
		}
		sorted := slices.Sorted(slices.Values(x))
		for n := range x {
			got := slices.Clone(x)
			check.Same(t, sorted[n], stat.Nth(got, n), "number %d of %v", n, x)
			if slices.Max(got[:n+1]) != sorted[n] || slices.Min(got[n:]) != sorted[n] {
				t.Errorf("number %d of %v does not divide %v", n, x, got)
			}
		}
	}
}
