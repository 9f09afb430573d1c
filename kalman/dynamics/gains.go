package dynamics

import "math"

// Gains tells what a read-out makes of each frequency, for each of the r bands. The slices are r×k,
// band by band.
type Gains struct {
	// Same has the diagonals of W_b: what an encoder row of the frequency adds to the query at the
	// same frequency.
	Same []float64

	// All has the norms of the columns of W_b: what it adds to the query at all frequencies.
	All []float64
}

// GainsOf returns the gains of W_b, r×k×k. O(r·k²).
func GainsOf(w []float32, r, k int) *Gains {
	g := &Gains{Same: make([]float64, r*k), All: make([]float64, r*k)}
	for band := range r {
		w, all := w[band*k*k:][:k*k], g.All[band*k:][:k]
		for i := range k {
			for j, x := range w[i*k:][:k] {
				all[j] += float64(float64(x) * float64(x))
			}
			g.Same[band*k+i] = float64(w[i*k+i])
		}
		for j := range all {
			all[j] = math.Sqrt(all[j])
		}
	}
	return g
}
