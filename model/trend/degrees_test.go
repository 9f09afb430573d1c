package trend

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The expected number of users is the mean of items that get as many users in the same time, less
// what is not to be trusted of a few users.
func TestExpected(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	degrees, all := make([]int64, 2000), 0.
	for i := range degrees {
		degrees[i] = int64(math.Exp(5 * rng.Float64()))
		all += float64(degrees[i])
	}
	d := DegreesOf(len(degrees), func(i int32) int64 { return degrees[i] })
	for _, exposure := range []float64{0.01, 0.3, 1} {
		var items, sums [41]float64 // by users so far
		for range 200_000 {
			degree := float64(degrees[rng.IntN(len(degrees))])
			users := 1
			for at := rng.ExpFloat64(); at < exposure*degree; at += rng.ExpFloat64() {
				users++
			}
			if users < len(items) {
				items[users]++
				sums[users] += degree
			}
		}
		for users := 1; users < len(items); users++ {
			if items[users] < 1000 {
				continue // chance
			}
			m := float64(users)
			want := sums[users] / items[users] * m * m / (m*m + 20)
			if got := d.Expected(m, exposure*all, 0); math.Abs(got-want) > 0.1*want {
				t.Errorf("%v users in %v trainings: %v are expected, want %v", m, exposure, got, want)
			}
		}
	}
}

// The expected number of users is finite and above 0, whatever is known of an item.
func TestExpectedOfExtremes(t *testing.T) {
	d := DegreesOf(3, func(i int32) int64 { return []int64{0, 40, 9_000}[i] })
	for _, users := range []float64{1, 2, 1e4, 1e9} {
		for _, events := range []float64{0, 1, 1e5, 1e12} {
			if got := d.Expected(users, events, 0); !(got > 0 && got <= 9_000) {
				t.Errorf("%v users in %v events: %v are expected", users, events, got)
			}
		}
	}
}
