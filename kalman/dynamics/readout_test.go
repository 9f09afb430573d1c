package dynamics

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/kalman"
)

func TestRowsTo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, k, wide, r = 23, 5, 8, 3
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

// GS-IMC is one band with W = H(Λ) and μ = 0: its query is H∘z, with z the sum of the encoder rows.
func TestReadoutOfGSIMC(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	const n, k, alpha = 9, 4, 0.75
	out := &Readout{R: 1, K: k, W: make([]float64, k*k), Mean: make([]float64, k)}
	h := []float64{1, 0.8, 0.5, 0.25}
	for j := range k {
		out.W[j*k+j] = h[j]
	}
	e := randomRows(rng, n, k)
	rows := make([]float32, n*k)
	out.RowsTo(rows, e, k)

	d := &kalman.Dynamics{Bands: []kalman.Band{{Rho: alpha}}, Mean: make([]float32, k)}
	s, z := d.NewState(), make([]float64, k)
	for range 12 {
		i := rng.IntN(n)
		d.Update(s, rows[i*k:(i+1)*k], e[i*k:(i+1)*k], 1, 1, 0)
		for j := range z {
			z[j] = alpha*z[j] + float64(e[i*k+j])
		}
	}
	q := make([]float32, k)
	d.QueryTo(q, s)
	for j := range q {
		if want := h[j] * z[j]; math.Abs(float64(q[j])-want) > 1e-5 {
			t.Errorf("coordinate %d of the query is %v, want %v", j, q[j], want)
		}
	}
}
