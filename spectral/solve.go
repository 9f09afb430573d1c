package spectral

import (
	"fmt"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// denseMax is the number of items up to which all eigenpairs of the dense matrix are computed: at
// that size this is faster than iterating.
const denseMax = 600

// denseLimit bounds the dense solver where much of the spectrum is wanted: 3 GiB.
const denseLimit = 8192

// Solve learns the basis of rank opt.Rank of the item graph of r. The basis has a smaller rank if K
// has: eigenvectors of the eigenvalue 0 of a hypergraph carry nothing but the solver's arbitrary
// choice. The sign of each eigenvector is fixed by making its entry of largest magnitude positive.
//
// Solve returns a fault whose cause is ErrNotConverged, together with the basis, if an exact solver
// misses the tolerance.
func Solve(r *Incidence, opt Options) (*Basis, error) {
	if err := opt.validate(r); err != nil {
		return nil, err
	}
	if opt.Tolerance == 0 {
		opt.Tolerance = DefaultTolerance
	}
	if opt.meter = eigen.NewMeter(opt.Progress); opt.meter != nil {
		graph, product := graphCost(r, opt, 1, 4)
		opt.forming, opt.product = graph.Seconds, product
	}
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

// solveDense computes all eigenpairs of K as a dense matrix: O(n³) time, about 48·n² bytes.
func solveDense(op eigen.Operator[float64], k int) (*Basis, error) {
	n := op.Dim()
	if n > denseLimit {
		return nil, &fault.Fault{
			Field: "Rank", Got: k,
			Problem: fmt.Sprintf(
				"is most of the spectrum of %d items, which is computed for up to %d items only",
				n, denseLimit),
			Want: fmt.Sprintf("at most %d", eigen.MaxKrylovRank(n)),
		}
	}
	pairs, err := eigen.Dense(op, k)
	if err != nil {
		return nil, err
	}
	return newBasis(pairs, "dense"), nil
}

// solveKrylov finds the k leading pairs of K = a by block Lanczos.
func solveKrylov(a affinity, k int, opt Options) (*Basis, error) {
	pairs, err := eigen.Krylov(eigen.Problem{
		Single: a.single, Double: a.double, K: k,
		Tolerance: opt.Tolerance, Lowest: opt.Graph.lowest(), Seed: opt.Seed,
		Product: opt.product, Meter: opt.meter,
	})
	if err != nil {
		return nil, err
	}
	return newBasis(pairs, "lanczos"), nil
}

// finish cuts the null space off, fixes signs, measures the orthogonality and derives λ.
func finish(b *Basis, g itemGraph, r *Incidence, opt Options) (*Basis, error) {
	if opt.Graph.positive() {
		b.truncate(numericalRank(b.Kappa))
	}
	b.Degrees, b.Scale = r.Degrees(), g.normalisation()
	b.complete(opt.Graph)
	b.Report.Orthogonality = b.orthogonality()
	if opt.Solver != SolverNystrom && !(b.Report.Residual <= opt.Tolerance) {
		return b, notConverged(b.Report.Residual, opt.Tolerance)
	}
	return b, nil
}

// complete fixes the signs of the eigenvectors and derives λ and the eigenvalues of the report.
func (b *Basis) complete(g Graph) {
	b.fixSigns()
	b.Report.KappaMax, b.Report.KappaMin = b.Kappa[0], b.Kappa[b.K-1]
	divisor := 1.0
	if g.scaled() {
		divisor = b.Kappa[0]
	}
	b.Lambda = make([]float64, b.K)
	for j, kappa := range b.Kappa {
		b.Lambda[j] = 1 - kappa/divisor
	}
}
