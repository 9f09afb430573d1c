package spectral

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/spectral/internal/dense"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// Solver names of [Options].
const (
	SolverAuto    = "auto"    // exact
	SolverExact   = "exact"   // dense for small n, block Lanczos otherwise
	SolverNystrom = "nystrom" // from sampled columns
)

// Options of [Solve]. Every field but Rank has a usable zero value or default
// stated here.
type Options struct {
	Graph  Graph
	Rank   int    // k, at least 1 and at most the number of items
	Solver string // "" means SolverAuto

	// Tolerance bounds max_j ‖K u_j − κ_j u_j‖₂ / κ_1 of the exact solvers.
	// 0 means DefaultTolerance.
	Tolerance float64

	Nystrom NystromOptions
	Seed    uint64 // of the start block and of Nyström's samples

	// Progress, if set, is told by the exact solvers how much of the work is done, as far as can be foreseen: done rises from
	// 0 to at most total.
	Progress func(done, total int)

	meter *eigen.Meter // what Progress is told by
}

// DefaultTolerance is the residual that the exact solvers reach by default. An
// eigenvalue's error is of the order of the square of its residual.
const DefaultTolerance = 1e-5

// FinestTolerance is the finest that is worth asking for: rounding of float64 leaves residuals that are not far below.
const FinestTolerance = eigen.FinestTolerance

// denseMax is the number of items up to which all eigenpairs of the dense
// matrix are computed: at that size this is faster than iterating.
const denseMax = 600

// denseLimit bounds the dense solver where much of the spectrum is wanted: 3 GiB.
const denseLimit = 8192

// ErrNotConverged is wrapped by Solve's error if the residual of the basis
// misses the tolerance.
var ErrNotConverged = errors.New("eigenbasis has not converged")

func (o *Options) validate(r *Incidence) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if err := o.Graph.Validate(); err != nil {
		return err
	}
	if err := CheckRank(o.Rank, r.NumItems); err != nil {
		return err
	}
	if math.IsNaN(o.Tolerance) || o.Tolerance < 0 || o.Tolerance >= 1 {
		return fmt.Errorf("tolerance is %v, want a number in (0, 1)", o.Tolerance)
	}
	switch o.Solver {
	case "", SolverAuto, SolverExact:
		return nil
	case SolverNystrom:
		return o.Nystrom.validate(o.Rank, r.NumItems)
	}
	return fmt.Errorf("unknown solver %q, want %s, %s or %s", o.Solver, SolverAuto, SolverExact, SolverNystrom)
}

// CheckRank reports a rank that no graph of so many items has.
func CheckRank(rank, items int) error {
	if rank < 1 {
		return fmt.Errorf("rank is %d, want at least 1", rank)
	}
	if rank > items {
		return fmt.Errorf("rank %d is above the number of items %d: choose a rank of at most %d", rank, items, items)
	}
	return nil
}

// Solve learns the basis of rank opt.Rank of the item graph of r. The basis
// has a smaller rank if K has: eigenvectors of the eigenvalue 0 of a
// hypergraph carry nothing but the solver's arbitrary choice. The sign of
// each eigenvector is fixed by making its entry of largest magnitude
// positive. Solve returns an error that wraps ErrNotConverged, together with
// the basis, if an exact solver misses the tolerance.
func Solve(r *Incidence, opt Options) (*Basis, error) {
	if err := opt.validate(r); err != nil {
		return nil, err
	}
	if opt.Tolerance == 0 {
		opt.Tolerance = DefaultTolerance
	}
	opt.meter = eigen.NewMeter(opt.Progress)
	edges, err := r.windowed(opt.Graph.Window)
	if err != nil {
		return nil, err
	}
	g, err := newGraph(opt.Graph, edges)
	if err != nil {
		return nil, err
	}
	var b *Basis
	switch {
	case opt.Solver == SolverNystrom:
		b, err = solveNystrom(g.double(), edges.Degrees(), opt)
	case g.Dim() <= denseMax || !eigen.FitsKrylov(g.Dim(), opt.Rank):
		b, err = solveDense(g.double(), opt.Rank)
	default:
		b, err = solvePieces(g, opt)
	}
	if err != nil {
		return nil, err
	}
	return finish(b, g, r, opt)
}

// solveDense computes all eigenpairs of K as a dense matrix: O(n³) time, about
// 48·n² bytes.
func solveDense(op eigen.Operator[float64], k int) (*Basis, error) {
	n := op.Dim()
	if n > denseLimit {
		return nil, fmt.Errorf("rank %d of %d items is most of the spectrum, which is computed for up to %d items only: choose a rank of at most %d",
			k, n, denseLimit, eigen.MaxKrylovRank(n))
	}
	pairs, err := eigen.Dense(op, k)
	if err != nil {
		return nil, err
	}
	return newBasis(pairs, "dense"), nil
}

// newBasis is the basis of the pairs, before finish.
func newBasis(p *eigen.Pairs, solver string) *Basis {
	return &Basis{N: p.U.Rows, K: p.U.Cols, U: p.U.Data, Kappa: p.Kappa, Report: Report{
		Solver: solver, Residual: p.Report.Residual, Passes: p.Report.Vectors, Restarts: p.Report.Restarts,
	}}
}

// finish cuts the null space off, fixes signs, measures the orthogonality and derives λ.
func finish(b *Basis, g itemGraph, r *Incidence, opt Options) (*Basis, error) {
	if opt.Graph.positive() {
		b.truncate(numericalRank(b.Kappa))
	}
	b.fixSigns()
	b.Degrees, b.Scale = r.Degrees(), g.normalisation()
	b.Report.KappaMax, b.Report.KappaMin = b.Kappa[0], b.Kappa[b.K-1]
	divisor := 1.0
	if opt.Graph.scaled() {
		divisor = b.Kappa[0]
	}
	b.Lambda = make([]float64, b.K)
	for j, kappa := range b.Kappa {
		b.Lambda[j] = 1 - kappa/divisor
	}
	b.Report.Orthogonality = b.orthogonality()
	if opt.Solver != SolverNystrom && !(b.Report.Residual <= opt.Tolerance) {
		return b, fmt.Errorf("%w: max residual %.2e is above the tolerance %.2e; a graph in many pieces converges badly, so leave out rare users and items (--min-user-events 5 --min-item-events 5), or raise --tolerance, lower --rank, use --solver nystrom",
			ErrNotConverged, b.Report.Residual, opt.Tolerance)
	}
	return b, nil
}

// numericalZero is the eigenvalue that counts as zero beside a first one of 1.
const numericalZero = 1e-9

// numericalRank is the number of leading eigenvalues that are not zero beside
// the first; at least 1.
func numericalRank(kappa []float64) int {
	k := len(kappa)
	for k > 1 && kappa[k-1] <= numericalZero*kappa[0] {
		k--
	}
	return k
}

// truncate keeps the first k columns.
func (b *Basis) truncate(k int) {
	if k == b.K {
		return
	}
	u := dense.New[float64](b.N, k)
	dense.Copy(u, dense.Columns(b.matrix(), 0, k))
	b.K, b.U, b.Kappa = k, u.Data, b.Kappa[:k]
}

func (b *Basis) matrix() dense.Matrix[float64] {
	return dense.Matrix[float64]{Rows: b.N, Cols: b.K, Stride: b.K, Data: b.U}
}

// fixSigns makes the entry of largest magnitude of each column positive; the
// first such entry, where several are alike up to rounding.
func (b *Basis) fixSigns() {
	best := make([]float64, b.K)
	for i := range b.N {
		for j, x := range b.U[i*b.K : (i+1)*b.K] {
			if math.Abs(x) > math.Abs(best[j])*(1+1e-6) {
				best[j] = x
			}
		}
	}
	for i := range b.N {
		for j := range b.K {
			if best[j] < 0 {
				b.U[i*b.K+j] = -b.U[i*b.K+j]
			}
		}
	}
}

// residual is max_j ‖K u_j − κ_j u_j‖₂ / (κ_1 ‖u_j‖₂), by k products with K.
func (b *Basis) residual(op eigen.Operator[float64]) float64 {
	b.Report.Passes += b.K
	return eigen.Residual(op, b.matrix(), b.Kappa)
}

// orthogonality is max |UᵀU − I|.
func (b *Basis) orthogonality() float64 {
	gram := dense.Gram(b.matrix())
	for j := range b.K {
		gram.Data[j*b.K+j]--
	}
	return max(floats.Max(gram.Data), -floats.Min(gram.Data))
}
