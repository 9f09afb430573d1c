package spectral

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/internal/gemm"
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

// An operator is a symmetric n×n matrix known by its products with blocks.
type operator interface {
	dim() int
	// applyTo sets dst = K·x for n×b row-major blocks. dst and x do not overlap.
	// The scratch that is used grows with b; see multiplyTo for wide blocks.
	applyTo(dst, x []float64, b int)
}

// A graphOperator is the K of an item graph, K = S M S with a diagonal S.
type graphOperator interface {
	operator
	normalisation() []float64 // S
}

// stripColumns is how many columns multiplyTo hands to an operator at a time.
const stripColumns = 32

// multiplyTo sets dst = K·x for blocks of any width, a strip of columns at a
// time: an operator needs scratch for every user times the width.
func multiplyTo(dst blas64.General, op operator, x blas64.General) {
	for lo := 0; lo < x.Cols; lo += stripColumns {
		hi := min(lo+stripColumns, x.Cols)
		in, out := newGeneral(x.Rows, hi-lo), newGeneral(x.Rows, hi-lo)
		copyGeneral(in, columns(x, lo, hi))
		op.applyTo(out.Data, in.Data, hi-lo)
		copyGeneral(columns(dst, lo, hi), out)
	}
}

// newOperator builds K of the graph without ever forming an n×n dense matrix.
func newOperator(g Graph, r *Incidence) (graphOperator, error) {
	if g.Kind == Covariance {
		op := newCovarianceOp(r)
		if len(op.col) == 0 {
			return nil, errors.New("covariance graph has no edges: no two items occur together more often than by chance; use --graph hypergraph or more data")
		}
		return op, nil
	}
	return newHypergraphOp(g.DegreeExponent, r), nil
}

// hypergraphOp is K = D_v^{-s/2} Rᵀ D_e^{-s} R D_v^{-s/2}, kept as R and Rᵀ.
type hypergraphOp struct {
	r       *Incidence
	userPtr []int64 // Rᵀ: users of item i are user[userPtr[i]:userPtr[i+1]]
	user    []int32
	vScale  []float64 // d_v^{-s/2}, 0 for an item without users
	eScale  []float64 // d_e^{-s}, 0 for a user without items
	y, z    []float64 // m×b and n×b scratch
}

func newHypergraphOp(s float64, r *Incidence) *hypergraphOp {
	op := &hypergraphOp{r: r, vScale: make([]float64, r.NumItems), eScale: make([]float64, r.NumUsers())}
	op.userPtr, op.user = r.transpose()
	for i, d := range r.Degrees() {
		if d > 0 {
			op.vScale[i] = math.Pow(float64(d), -s/2)
		}
	}
	for u := range op.eScale {
		if d := r.Ptr[u+1] - r.Ptr[u]; d > 0 {
			op.eScale[u] = math.Pow(float64(d), -s)
		}
	}
	return op
}

func (op *hypergraphOp) dim() int { return op.r.NumItems }

func (op *hypergraphOp) normalisation() []float64 { return op.vScale }

func (op *hypergraphOp) applyTo(dst, x []float64, b int) {
	n, m := op.r.NumItems, op.r.NumUsers()
	if cap(op.y) < m*b {
		op.y = make([]float64, m*b)
	}
	y := op.y[:m*b]
	if cap(op.z) < n*b {
		op.z = make([]float64, n*b)
	}
	z := op.z[:n*b]
	parallelRows(n, func(lo, hi int) { // z = D_v^{-s/2} x
		for i := lo; i < hi; i++ {
			floats.ScaleTo(z[i*b:(i+1)*b], op.vScale[i], x[i*b:(i+1)*b])
		}
	})
	parallelRows(m, func(lo, hi int) { // y = D_e^{-s} R z
		for u := lo; u < hi; u++ {
			row := y[u*b : (u+1)*b]
			sumRows(row, z, op.r.Item[op.r.Ptr[u]:op.r.Ptr[u+1]])
			floats.Scale(op.eScale[u], row)
		}
	})
	parallelRows(n, func(lo, hi int) { // dst = D_v^{-s/2} Rᵀ y
		for i := lo; i < hi; i++ {
			row := dst[i*b : (i+1)*b]
			sumRows(row, y, op.user[op.userPtr[i]:op.userPtr[i+1]])
			floats.Scale(op.vScale[i], row)
		}
	})
}

// sumRows sets dst to the sum of the given rows of x, which are as long as dst.
func sumRows(dst, x []float64, rows []int32) {
	if len(dst) == gemm.StripWidth {
		gemm.SumRows(dst, x, rows)
		return
	}
	clear(dst)
	for _, r := range rows {
		floats.Add(dst, x[int(r)*len(dst):(int(r)+1)*len(dst)])
	}
}
