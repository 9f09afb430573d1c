package spectral

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/fault"
)

// givenOrthogonality is the largest |UᵀU − I| of a basis from elsewhere: columns in float32 are
// orthonormal to a few 1e-7.
const givenOrthogonality = 1e-5

// kappaSlack is by how much an eigenvalue may exceed its bound, relative to the bound: by rounding.
const kappaSlack = 1e-5

// Given is a basis that another program has solved, with what that program says of it. It has the
// fields of the same names of [Basis].
type Given struct {
	N, K           int
	U              []float64
	Kappa          []float64
	Degrees        []int64
	Scale          []float64
	Residual       float64 // max_j ‖K u_j − κ_j u_j‖₂ / κ_1, as that program measured it
	Solver         string  // its name for the report
	Passes         int     // vectors that it multiplied with K
	DegreeExponent float64 // s of the hypergraph
	Window         int     // see [Graph]
}

// Basis checks the basis and returns it in the form that [Solve] has. It is an error if numbers are
// not finite, the columns are not orthonormal, the eigenvalues do not descend or cannot be those of
// such a graph, or the scales do not belong to the degrees. It is a fault of Tolerance with the
// cause [ErrNotConverged] if the residual is above the tolerance; 0 stands for [DefaultTolerance].
//
// The residual itself is not measured again: it takes the training users' histories. The basis
// shares memory with g. The lengths must fit.
func (g *Given) Basis(tolerance float64) (*Basis, error) {
	if len(g.U) != g.N*g.K || len(g.Kappa) != g.K || len(g.Degrees) != g.N || len(g.Scale) != g.N ||
		g.K < 1 || g.K > g.N {
		panic(fmt.Sprintf("spectral: a basis of %d×%d with %d coefficients, %d eigenvalues, "+
			"%d degrees and %d scales", g.N, g.K, len(g.U), len(g.Kappa), len(g.Degrees),
			len(g.Scale)))
	}
	if tolerance == 0 {
		tolerance = DefaultTolerance
	}
	graph := Graph{Kind: Hypergraph, DegreeExponent: g.DegreeExponent, Window: g.Window}
	if err := errors.Join(graph.Validate(), g.checkScale(), g.checkKappa()); err != nil {
		return nil, err
	}
	b := &Basis{
		N: g.N, K: g.K, U: g.U, Kappa: g.Kappa, Degrees: g.Degrees, Scale: g.Scale,
		Report: Report{Solver: g.Solver, Residual: g.Residual, Passes: g.Passes},
	}
	if err := b.checkColumns(); err != nil {
		return nil, err
	}
	b.complete(graph)
	if !(g.Residual >= 0 && g.Residual <= tolerance) {
		return nil, &fault.Fault{
			Field: "Tolerance",
			Err: fmt.Errorf("%w, its largest residual %.2e is not within 0 to %.2e",
				ErrNotConverged, g.Residual, tolerance),
			Advice: []fault.Change{{Verb: "raise", Field: "Tolerance"}},
		}
	}
	return b, nil
}

// checkColumns checks that the columns are orthonormal.
func (b *Basis) checkColumns() error {
	for at, x := range b.U {
		if x-x != 0 {
			return fmt.Errorf("row %d of the basis has %v in column %d, want finite numbers",
				at/b.K, x, at%b.K)
		}
	}
	b.Report.Orthogonality = b.orthogonality()
	if !(b.Report.Orthogonality <= givenOrthogonality) {
		return fmt.Errorf("the columns of the basis are not orthonormal: UᵀU is off by %.2e, "+
			"want at most %.0e", b.Report.Orthogonality, givenOrthogonality)
	}
	return nil
}

// checkScale checks that the degrees are those of items with users, and the scales d_v^{-s/2} with
// numbers d_v of hyperedges that such items can have.
func (g *Given) checkScale() error {
	for i, d := range g.Degrees {
		if d < 1 {
			return fmt.Errorf("item %d has %d training users, want 1 or more", i, d)
		}
		// An item has a hyperedge of each of its users, and more only where windows overlap.
		most := math.Pow(float64(d), -g.DegreeExponent/2) * (1 + kappaSlack)
		least := 0.0
		if g.Window == 0 {
			least = most * (1 - 3*kappaSlack)
		}
		if s := g.Scale[i]; !(s > 0 && s >= least && s <= most) {
			return fmt.Errorf("item %d of %d training users has the scale %v, want it above %.4g "+
				"and at most %.4g", i, d, s, least, most)
		}
	}
	return nil
}

// checkKappa checks the order and the range of the eigenvalues.
func (g *Given) checkKappa() error {
	bound := g.largestKappa()
	for j, kappa := range g.Kappa {
		if !(kappa >= 0 && kappa <= bound*(1+kappaSlack)) {
			return fmt.Errorf("eigenvalue %d is %v, want 0 to %.6g, which no graph of these "+
				"degrees exceeds", j, kappa, bound)
		}
		if j > 0 && kappa > g.Kappa[j-1] {
			return fmt.Errorf("eigenvalue %d is %v, above the one before it (%v): want them in "+
				"descending order", j, kappa, g.Kappa[j-1])
		}
	}
	if g.Kappa[0] == 0 {
		return errors.New("all eigenvalues are 0: the graph has no edges")
	}
	return nil
}

// largestKappa is a bound of the eigenvalues of K. For s = 1 it is 1. Since
//
//	K_s = D_v^{(1−s)/2} A ᵀD_e^{1−s} A D_v^{(1−s)/2},    ‖A‖ ≤ 1, A that of s = 1
//
// κ_1 ≤ (max d_v · max d_e)^{1−s} for s < 1, and κ_1 ≤ 1 for s ≥ 1. d_v is scale^{−2/s}.
func (g *Given) largestKappa() float64 {
	s := g.DegreeExponent
	if s >= 1 {
		return 1
	}
	edge := float64(g.N)
	if g.Window > 0 {
		edge = min(edge, float64(g.Window))
	}
	edges := float64(slices.Max(g.Degrees)) // of an item
	if s > 0 {
		edges = math.Pow(slices.Min(g.Scale), -2/s)
	} else if g.Window > 0 { // the scales tell nothing, and windows may be many
		return math.MaxFloat64
	}
	return math.Pow(edges*edge, 1-s)
}
