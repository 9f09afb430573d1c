package trend

import (
	"math"
	"testing"
)

// The expected number of users is the mean of Gamma(a, b/d̄) after m−1 Poisson events.
func TestExpected(t *testing.T) {
	const typical, all = 6.0, 3.0 + 12 + 6
	d := DegreesOf(3, func(i int32) int64 { return []int64{3, 12, 6}[i] })
	for _, users := range []float64{1, 2, 5, 40} {
		for _, exposure := range []float64{0.01, 0.3, 1, 4} {
			var mass, mean float64
			for step := range 200_000 { // the integral over x = √D, in which the density is smooth
				x := 1e-2 * (float64(step) + 0.5)
				rate := x * x
				density := math.Exp((users-1+priorUsers-1)*math.Log(rate)-
					rate*(exposure+priorExposure/typical)) * x
				mass, mean = mass+density, mean+density*rate
			}
			want, got := mean/mass, d.Expected(users, exposure*all)
			if math.Abs(got-want) > 0.01*want {
				t.Errorf("%v users in %v trainings: %v are expected, want %v", users, exposure, got,
					want)
			}
		}
	}
}
