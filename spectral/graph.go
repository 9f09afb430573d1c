package spectral

import (
	"fmt"
	"math"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// Graph kinds.
const (
	Hypergraph = "hypergraph"
	Covariance = "covariance"
)

// GraphKinds lists the item graphs that can be learned.
var GraphKinds = []string{Hypergraph, Covariance}

// Graph chooses the item graph that is learned from R.
type Graph struct {
	// Kind is Hypergraph, K = D_v^{-s/2} Rᵀ D_e^{-s} R D_v^{-s/2}, or Covariance,
	// K = D^{-1/2} A D^{-1/2} with A_ij = max(Cov(R_i, R_j), 0) for i ≠ j, A_ii = 0 and D the row
	// sums of A. Faults call this field Graph.
	Kind string

	// DegreeExponent is s of the hypergraph (paper: 1), 0 to 2. Covariance has none.
	DegreeExponent float64

	// Window is 0 if the whole history of a user is one hyperedge. With w, 2 to MaxWindow, each
	// window of w consecutive events is a hyperedge, and each window overlaps the next by half.
	// Items taken close together are then neighbours, and a long history of changing tastes is not
	// one clique. The windows then take the place of the users in the definitions of R, D_v, D_e
	// and the covariances. Not in the paper.
	Window int
}

// Validate returns the fault of an unknown kind, or of an exponent or a window out of range. The
// fields are Graph, DegreeExponent and Window.
func (g Graph) Validate() error {
	if g.Window != 0 && (g.Window < 2 || g.Window > MaxWindow) {
		return fault.New("Window", g.Window,
			fmt.Sprintf("2 to %d events, or 0 for whole histories", MaxWindow))
	}
	switch g.Kind {
	case Covariance:
		return nil
	case Hypergraph:
		if math.IsNaN(g.DegreeExponent) || g.DegreeExponent < 0 || g.DegreeExponent > 2 {
			return fault.New("DegreeExponent", g.DegreeExponent, "a number from 0 to 2")
		}
		return nil
	}
	return fault.New("Graph", fmt.Sprintf("%q", g.Kind), Hypergraph+" or "+Covariance)
}

// scaled tells whether λ is taken from K divided by its largest eigenvalue. For s = 1 and for the
// covariance graph κ_1 ≤ 1 and nothing is divided.
func (g Graph) scaled() bool { return g.Kind == Hypergraph && g.DegreeExponent != 1 }

// positive tells whether K has no negative eigenvalues. The covariance graph has no loops, so the
// eigenvalues of its K sum to 0.
func (g Graph) positive() bool { return g.Kind == Hypergraph }

// lowest is a lower bound of the eigenvalues of K, given that none is above 1.
func (g Graph) lowest() float64 {
	if g.positive() {
		return 0
	}
	return -1
}

// An itemGraph is a sparse K = S M S with a diagonal S.
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
			return nil, &fault.Fault{
				Field: "Graph", Got: Covariance,
				Problem: "has no edges: no two items occur together more often than by chance",
				Advice:  []fault.Change{{Verb: "set", Field: "Graph", To: Hypergraph}},
			}
		}
		return c, nil
	}
	return newHypergraph(g.DegreeExponent, r), nil
}
