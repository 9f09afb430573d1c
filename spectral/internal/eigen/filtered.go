package eigen

import (
	"cmp"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// filteredIteration is a Lanczos iteration on a filter of K.
type filteredIteration[T gemm.Float] struct {
	l      *lanczos[T]
	op     Operator[T]     // K without found
	found  dense.Matrix[T] // leading eigenvectors found before; the iteration leaves them out
	filter chebyshev
	top    float64 // κ_1
}

const (
	// safety is the share of the tolerance that the residuals may use up before the last
	// Rayleigh–Ritz step.
	safety = 0.7
	// pessimism is the largest factor by which the bound of a residual may exceed the residual. The
	// bound holds for the worst mixture of eigenvectors.
	pessimism = 1e4
)

// good returns the number of leading Ritz pairs, up to k, with residuals of at most tol·κ_1 with K.
// A bound follows from the residuals with the filter. Where the bound does not suffice, the pairs
// with the largest bounds are measured by a product with K. While the last pair is far from good,
// the number is a guess: to bring the excess down to a tenth takes a block or two.
func (f *filteredIteration[T]) good(k int, tol float64) (int, error) {
	if far := f.far(k, tol); far > 1 {
		return max(k/2, min(k-1, k-int(math.Log10(min(far, pessimism))*float64(f.l.b)))), nil
	}
	theta, s, err := f.l.ritz()
	if err != nil {
		return 0, err
	}
	excess := f.l.residuals(dense.Columns(s, 0, k))
	good, worst := k, 0.0
	for j := range excess {
		excess[j] = f.excess(theta[j], excess[j], tol)
		if worst = max(worst, excess[j]); excess[j] > 1 {
			good = min(good, j)
		}
	}
	if worst > 1 && f.measurable(worst) {
		order := leadingNumbers(k)
		slices.SortStableFunc(order,
			func(a, b int) int { return cmp.Compare(excess[b], excess[a]) })
		measured := f.measure(f.l.vectors(s, order[:min(k, f.l.b)]))
		if measured <= safety*tol {
			good = k
		}
	}
	return good, nil
}

// excess is the residual of a Ritz pair over the bound of a good one.
func (f *filteredIteration[T]) excess(theta, residual, tol float64) float64 {
	bound := safety * tol * f.top
	if f.filter.degree > 1 {
		bound = f.filter.bound(theta, bound)
	}
	if !(bound > 0) {
		return math.Inf(1)
	}
	return residual / bound
}

// measurable tells whether pairs with such an excess may be good when they are measured.
func (f *filteredIteration[T]) measurable(excess float64) bool {
	return excess <= pessimism && f.filter.degree > 1
}

// measure returns the largest ‖K u − (uᵀKu) u‖ / κ_1 of the columns of u.
func (f *filteredIteration[T]) measure(u dense.Matrix[T]) float64 {
	ku := dense.New[T](u.Rows, u.Cols)
	f.op.ApplyTo(ku.Data, u.Data, u.Cols)
	kappa := dense.DotColumns(u, ku)
	subtractScaled(ku, u, kappa)
	return dense.MaxColumnNorm(ku) / f.top
}
