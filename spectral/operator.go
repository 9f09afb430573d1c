package spectral

import (
	"errors"
	"fmt"
	"math"

	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// Graph kinds.
const (
	Hypergraph = "hypergraph"
	Covariance = "covariance"
)

// GraphKinds lists the item graphs that can be learned.
var GraphKinds = []string{Hypergraph, Covariance}

// Graph says which item graph is learned from R.
type Graph struct {
	// Kind is Hypergraph, K = D_v^{-s/2} Rᵀ D_e^{-s} R D_v^{-s/2}, or
	// Covariance, K = D^{-1/2} A D^{-1/2} with A_ij = max(Cov(R_i, R_j), 0)
	// for i ≠ j, A_ii = 0 and D the row sums of A.
	Kind string
	// DegreeExponent is s of the hypergraph (paper: 1). Covariance has none.
	DegreeExponent float64
	// Window is 0 if the whole history of a user is one hyperedge. With w, 2 to MaxWindow, each window of w consecutive
	// events is one, and each overlaps the next by half: items that are taken close together are neighbours, and a long
	// history of changing tastes is not one clique. The users of the definitions above are then the windows: R, D_v, D_e
	// and the covariances are theirs. Not in the paper.
	Window int
}

// Validate reports an unknown kind, or an exponent or a window out of range.
func (g Graph) Validate() error {
	if g.Window != 0 && (g.Window < 2 || g.Window > MaxWindow) {
		return fmt.Errorf("window is %d events, want 2 to %d, or 0 for whole histories", g.Window, MaxWindow)
	}
	switch g.Kind {
	case Covariance:
		return nil
	case Hypergraph:
		if math.IsNaN(g.DegreeExponent) || g.DegreeExponent < 0 || g.DegreeExponent > 2 {
			return fmt.Errorf("degree exponent is %v, want a number in [0, 2]", g.DegreeExponent)
		}
		return nil
	}
	return fmt.Errorf("unknown graph %q, want %s or %s", g.Kind, Hypergraph, Covariance)
}

// scaled tells whether λ is taken from K divided by its largest eigenvalue.
// For s = 1 and for the covariance graph κ_1 ≤ 1 and nothing is divided.
func (g Graph) scaled() bool { return g.Kind == Hypergraph && g.DegreeExponent != 1 }

// positive tells whether K has no negative eigenvalues. The covariance graph has
// no loops, so the eigenvalues of its K sum to 0.
func (g Graph) positive() bool { return g.Kind == Hypergraph }

// An itemGraph is a K = S M S with a diagonal S, kept sparse.
type itemGraph interface {
	Dim() int
	normalisation() []float64 // S
	single() eigen.Operator[float32]
	double() eigen.Operator[float64]
}

// newGraph prepares K of the graph without ever forming an n×n dense matrix.
func newGraph(g Graph, r *Incidence) (itemGraph, error) {
	if g.Kind == Covariance {
		c := newCovarianceGraph(r)
		if len(c.col) == 0 {
			return nil, errors.New("covariance graph has no edges: no two items occur together more often than by chance; use --graph hypergraph or more data")
		}
		return c, nil
	}
	return newHypergraph(g.DegreeExponent, r), nil
}
