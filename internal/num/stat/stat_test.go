package stat_test

import (
	"math"
	"testing"

	"github.com/gsimc/gsimc/internal/num/stat"
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
