package model

import (
	"math"

	"github.com/gsimc/gsimc/model/local"
)

// Gains tells what learned dynamics make of each frequency, for each of the r bands. The slices are
// r×k, band by band.
type Gains struct {
	// Same has the diagonals of W_b: what an encoder row of the frequency adds to the query at the
	// same frequency.
	Same []float64

	// All has the norms of the columns of W_b: what it adds to the query at all frequencies.
	All []float64
}

// Gains returns the gains of the bands. It is nil without learned dynamics. O(r·k²).
func (m *Model) Gains() *Gains {
	d, ok := m.transition.(*learnedDynamics)
	if !ok {
		return nil
	}
	r, k := len(d.Bands), m.k
	g := &Gains{Same: make([]float64, r*k), All: make([]float64, r*k)}
	for band := range r {
		w, all := d.readout[band*k*k:][:k*k], g.All[band*k:][:k]
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

// LocalGraph returns the graph of the local term, nil for none. It is valid until Close.
func (m *Model) LocalGraph() *local.Graph { return m.local }
