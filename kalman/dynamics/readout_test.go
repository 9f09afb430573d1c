package dynamics

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRowsTo(t *testing.T) {
	for _, n := range []int{1, 2, 23} {
		testRowsTo(t, n)
	}
}

func testRowsTo(t *testing.T, n int) {
	rng := rand.New(rand.NewPCG(1, 2))
	const k, wide, r = 5, 8, 3
	out := &Readout{R: r, K: k, Mean: make([]float64, k)}
	for range r * k * k {
		out.W = append(out.W, rng.NormFloat64())
	}
	e := randomRows(rng, n, wide)
	dst := make([]float32, n*r*k)
	dst[0] = 9 // what was there before does not count
	out.RowsTo(dst, e, wide)
	for i := range n {
		for b := range r {
			for j := range k {
				want := 0.0
				for l := range k {
					want += out.W[(b*k+j)*k+l] * float64(e[i*wide+l])
				}
				if got := float64(dst[(i*r+b)*k+j]); math.Abs(got-want) > 1e-5 {
					t.Errorf("item %d, band %d, coordinate %d: %v, want %v", i, b, j, got, want)
				}
			}
		}
	}
}
