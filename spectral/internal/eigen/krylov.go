package eigen

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// A Problem is the search for the K leading pairs of an Operator.
type Problem struct {
	Single    Operator[float32] // of the iteration
	Double    Operator[float64] // for measuring, and for the iteration with fine tolerances
	K         int               // number of pairs, with FitsKrylov
	Tolerance float64           // bound of the residual
	Lowest    float64           // a lower bound of the eigenvalues
	Seed      uint64            // of the start block
	Product   float64           // seconds of K times one vector, see package cost; for Meter
	Meter     *Meter            // of the progress; may be nil
}

const (
	// maxRestarts bounds the iteration. A basis that has not converged by then is returned with its
	// residual.
	maxRestarts = 100

	// maxSingleRestarts bounds the iteration in float32. Rounding may keep it from converging, so
	// it then begins anew in float64.
	maxSingleRestarts = 30
)

// Krylov finds the leading pairs by block Lanczos on a Chebyshev filter of the operator. A short
// probe of the spectrum determines the filter. Pairs that miss the tolerance are returned too.
func Krylov(p Problem) (*Pairs, error) {
	if p.Tolerance < SingleTolerance {
		return iterate(p.Double, p)
	}
	pairs, err := iterate(p.Single, p)
	if err != nil || pairs.Report.Residual <= p.Tolerance {
		return pairs, err
	}
	return iterate(p.Double, p)
}

// iterate is Krylov with products by op. The result is measured with p.Double.
func iterate[T gemm.Float](op Operator[T], p Problem) (*Pairs, error) {
	counted := &Counting[T]{Operator: op}
	work := newWorkload[T](p, op.Dim())
	p.Meter.Begin(work.iteration)
	f, err := startKrylov(counted, p, work)
	if err != nil {
		return nil, err
	}
	l, found, limit := f.l, f.found.Cols, maxRestarts
	if !isDouble[T]() {
		limit = maxSingleRestarts
	}
	out := &Pairs{}
	for tol, last := p.Tolerance, math.Inf(1); ; tol /= 4 {
		count := func() (int, error) { return f.good(p.K-found, tol) }
		if err := l.solve(p.K-found, count, limit); err != nil {
			return nil, err
		}
		p.Meter.Begin(1)
		u := dense.New[float64](l.n, p.K)
		dense.Copy(dense.Columns(u, 0, found), f.found)
		dense.Copy(dense.Columns(u, found, p.K), l.vectors(l.s, leadingNumbers(p.K-found)))
		kappa, residual, err := RayleighRitz(p.Double, u)
		if err != nil {
			return nil, err
		}
		counted.Vectors += p.K
		out.U, out.Kappa, out.Report.Residual = u, kappa, residual
		// A residual that does not fall with tol is rounding.
		stalled := !isDouble[T]() && residual > last/2
		if residual <= p.Tolerance || stalled || tol < leastTolerance[T]() || l.restarts >= limit {
			break
		}
		last = residual
	}
	out.Report.Vectors, out.Report.Restarts = counted.Vectors, l.restarts
	return out, nil
}

// leadingNumbers returns 0, …, k−1.
func leadingNumbers(k int) []int {
	numbers := make([]int, k)
	for j := range numbers {
		numbers[j] = j
	}
	return numbers
}

// leastTolerance is the tolerance below which rounding stops the progress of an iteration.
func leastTolerance[T gemm.Float]() float64 {
	if isDouble[T]() {
		return FinestTolerance
	}
	return SingleTolerance / 10
}

func isDouble[T gemm.Float]() bool {
	_, double := any(T(0)).(float64)
	return double
}
