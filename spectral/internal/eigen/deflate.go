package eigen

import (
	"github.com/gsimc/gsimc/internal/gemm"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// deflatedOp is (I − XXᵀ) K (I − XXᵀ) for an n×r matrix X with orthonormal columns: K without what
// is along X. Leading eigenvectors that a short run has found already are put into X, so that the
// numbers that are left are of like size: a filter of K would lift the leading ones so far above
// the others that rounding of their part would drown the rest.
type deflatedOp[T gemm.Float] struct {
	Operator[T]
	x dense.Matrix[T]
}

func (d *deflatedOp[T]) ApplyTo(dst, x []T, b int) {
	n := d.Dim()
	in := dense.Matrix[T]{Rows: n, Cols: b, Stride: b, Data: x}
	out := dense.Matrix[T]{Rows: n, Cols: b, Stride: b, Data: dst}
	clean := dense.New[T](n, b)
	dense.Copy(clean, in)
	d.project(clean)
	d.Operator.ApplyTo(dst, clean.Data, b)
	d.project(out)
}

// project subtracts XXᵀ a from a.
func (d *deflatedOp[T]) project(a dense.Matrix[T]) {
	coef := dense.New[T](d.x.Cols, a.Cols)
	dense.TransMul(coef, d.x, a)
	dense.MulAdd(a, -1, d.x, coef)
}

// maxDeflated bounds the columns of X.
const maxDeflated = 64

// deflationTolerance is the residual, beside the tolerance of the basis, up to which a Ritz pair
// counts as found. What it misses lies mostly within the basis, where the last Rayleigh–Ritz step
// puts it right.
const deflationTolerance = 0.02

// leading returns the leading Ritz vectors of l whose residual is at most bound, at most count.
func (l *lanczos[T]) leading(count int, bound float64) (x dense.Matrix[T], err error) {
	if _, _, err := l.ritz(); err != nil {
		return x, err
	}
	var numbers []int
	for j, norm := range l.residuals(min(count, l.p)) {
		if !(norm <= bound) {
			break
		}
		numbers = append(numbers, j)
	}
	x = l.vectors(numbers)
	u := dense.New[float64](x.Rows, x.Cols)
	dense.Copy(u, x)
	if x.Cols > 0 {
		err = Orthonormalise(u)
	}
	dense.Copy(x, u)
	return x, err
}
