package dynamics

import (
	"github.com/gsimc/gsimc/internal/num/parallel"
)

// Spread holds moments of the encoder rows of all training events, coordinate by coordinate. An
// eigenvector of a small dense piece of the graph is zero on nearly all items. Its coordinate has a
// large kurtosis, and a sample of users says little about it.
type Spread struct {
	Variance []float64 // k: σ²_l = Σ_i p_i (e_il − mean)², p_i the share of the events on item i
	Kurtosis []float64 // k: Σ_i p_i (e_il − mean)⁴ / σ⁴_l, at least 1; 1 where σ²_l = 0
}

// NewSpread returns the moments for items that have the given numbers of training users. k is the
// length of an encoder row. An item without users counts as one with a single user.
func NewSpread(k int, encoder Encoder, degrees []int64) *Spread {
	s := &Spread{Variance: make([]float64, k), Kurtosis: make([]float64, k)}
	total := 0.0
	for _, d := range degrees {
		total += float64(max(d, 1))
	}
	parallel.Strips(k, walkedTogether, func(lo, hi int) {
		mean := make([]float64, hi-lo)
		each := func(do func(c int, share, e float64)) {
			for i, d := range degrees {
				u, g := encoder(int32(i))
				for c, x := range u[lo:hi] {
					do(c, float64(max(d, 1))/total, float64(g*x))
				}
			}
		}
		each(func(c int, share, e float64) { mean[c] += float64(share * e) })
		fourth := make([]float64, hi-lo)
		each(func(c int, share, e float64) {
			square := (e - mean[c]) * (e - mean[c])
			s.Variance[lo+c] += float64(share * square)
			fourth[c] += float64(share * square * square)
		})
		for c, x := range fourth {
			s.Kurtosis[lo+c] = 1
			if v := s.Variance[lo+c]; v > 0 {
				s.Kurtosis[lo+c] = max(1, x/v/v)
			}
		}
	})
	return s
}
