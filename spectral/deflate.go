package spectral

import "github.com/gsimc/gsimc/internal/gemm"

// deflatedOp is (I − XXᵀ) K (I − XXᵀ) for an n×r matrix X with orthonormal columns: K without what is along X. Leading
// eigenvectors that a short run has found already are put into X, so that the numbers that are left are of like size: a filter
// of K would lift the leading ones so far above the others that rounding of their part would drown the rest.
type deflatedOp[T gemm.Float] struct {
	operator[T]
	x matrix[T]
}

func (d *deflatedOp[T]) applyTo(dst, x []T, b int) {
	n := d.dim()
	in, out := matrix[T]{Rows: n, Cols: b, Stride: b, Data: x}, matrix[T]{Rows: n, Cols: b, Stride: b, Data: dst}
	clean := newMatrix[T](n, b)
	copyMatrix(clean, in)
	d.project(clean)
	d.operator.applyTo(dst, clean.Data, b)
	d.project(out)
}

// project subtracts XXᵀ a from a.
func (d *deflatedOp[T]) project(a matrix[T]) {
	coef := newMatrix[T](d.x.Cols, a.Cols)
	transMul(coef, d.x, a)
	mulAdd(a, -1, d.x, coef)
}

// maxDeflated bounds the columns of X.
const maxDeflated = 64

// deflationTolerance is the residual, beside the tolerance of the basis, up to which a Ritz pair counts as found. What it
// misses lies mostly within the basis, where the last Rayleigh–Ritz step puts it right.
const deflationTolerance = 0.02

// leading returns the leading Ritz vectors of l whose residual is at most bound, at most count.
func (l *lanczos[T]) leading(count int, bound float64) (x matrix[T], err error) {
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
	u := newGeneral(x.Rows, x.Cols)
	copyMatrix(u, x)
	if x.Cols > 0 {
		err = orthonormalColumns(u)
	}
	copyMatrix(x, u)
	return x, err
}
