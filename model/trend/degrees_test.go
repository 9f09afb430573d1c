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
			want := sums[users] / items[users] * m * m / (m*m + doubt)
			if got := d.Expected(m, exposure*all, 0); math.Abs(got-want) > 0.1*want {
				t.Errorf("%v users in %v trainings: %v are expected, want %v", m, exposure, got, want)
			}
		}
	}
}

// What neighbours in content have moves the number as long as there are few users.
func TestExpectedNear(t *testing.T) {
	degrees := make([]int64, 2000)
	for i := range degrees {
		degrees[i] = int64(1 + i/4)
	}
	d := DegreesOf(len(degrees), func(i int32) int64 { return degrees[i] })
	for _, c := range []struct{ users, trainings, ratio float64 }{
		{0, 0, 1.5}, {1, 0, 1.5}, {5, 0.1, 1.1}, {100, 0.5, 1},
	} {
		few, many := d.Expected(c.users, c.trainings*d.Events, 2),
			d.Expected(c.users, c.trainings*d.Events, 300)
		if most := max(c.ratio, 1.1); many < c.ratio*few || c.users > 50 && many > most*few {
			t.Errorf("%v users: %v and %v are expected", c.users, few, many)
		}
	}
	if d.Expected(0, 0, 30) <= d.Expected(0, 0.2*d.Events, 30) {
		t.Error("while nobody takes an item its number does not fall")
	}
}

// The expected number of users is finite and above 0, whatever is known of an item.
func TestExpectedOfExtremes(t *testing.T) {
	d := DegreesOf(3, func(i int32) int64 { return []int64{0, 40, 9_000}[i] })
	for _, users := range []float64{0, 1, 2, 1e4, 1e9} {
		for _, events := range []float64{0, 1, 1e5, 1e12} {
			for _, near := range []float64{0, 1e-9, 1e12} {
				got := d.Expected(users, events, near)
				if !(got > 0 && got <= 9_000) && users+near > 0 {
					t.Errorf("%v users in %v events, near %v: %v are expected", users, events, near,
						got)
				}
			}
		}
	}
}
