package eigen

import (
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// deflatedOp is (I − XXᵀ) K (I − XXᵀ) for an n×r matrix X with orthonormal columns: K without its
// part along X. X holds the leading eigenvectors that a short run has already found. A filter of K
// would lift their eigenvalues so far above the others that rounding would drown the rest. The
// eigenvalues of the deflated operator are of similar size.
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
// counts as found. Its error lies mostly within the basis, where the last Rayleigh–Ritz step
// corrects it.
const deflationTolerance = 0.02

// leading returns the leading Ritz vectors of l with residuals of at most bound, at most count of
// them.
func (l *lanczos[T]) leading(count int, bound float64) (x dense.Matrix[T], err error) {
	if _, _, err := l.ritz(); err != nil {
		return x, err
	}
	var numbers []int
	for j, norm := range l.residuals(dense.Columns(l.s, 0, min(count, l.p))) {
		if !(norm <= bound) {
			break
		}
		numbers = append(numbers, j)
	}
	x = l.vectors(l.s, numbers)
	u := dense.New[float64](x.Rows, x.Cols)
	dense.Copy(u, x)
	if x.Cols > 0 {
		err = Orthonormalise(u)
	}
	dense.Copy(x, u)
	return x, err
}
