package eigen

import (
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// Pairs are k leading eigenpairs.
type Pairs struct {
	U      dense.Matrix[float64] // n×k, orthonormal columns; column j belongs to Kappa[j]
	Kappa  []float64             // descending
	Report Report
}

// Report tells the work of the search and the quality of its result.
type Report struct {
	Residual float64 // max_j ‖K u_j − κ_j u_j‖₂ / κ_1, measured on the finished vectors
	Vectors  int     // vectors multiplied by K
	Restarts int     // thick restarts of the Lanczos iteration
}

// Dense finds the k leading pairs by forming K and all of its eigenpairs: O(n³) time, about 48·n²
// bytes.
func Dense(op Operator[float64], k int) (*Pairs, error) {
	n := op.Dim()
	full := dense.New[float64](n, n)
	MultiplyTo(full, op, dense.Identity(n))
	kappa, s, err := Symmetric(full)
	if err != nil {
		return nil, err
	}
	p := &Pairs{U: dense.New[float64](n, k), Kappa: kappa[:k]}
	dense.Copy(p.U, dense.Columns(s, 0, k))
	p.Report = Report{Residual: Residual(op, p.U, p.Kappa), Vectors: n + k}
	return p, nil
}

// RayleighRitz replaces u by the eigenvectors of K within its span. It returns their eigenvalues,
// descending, and max_j ‖K u_j − κ_j u_j‖ / κ_1.
func RayleighRitz(
	op Operator[float64], u dense.Matrix[float64],
) (kappa []float64, residual float64, err error) {
	if err := Orthonormalise(u); err != nil {
		return nil, 0, err
	}
	ku, gram := dense.New[float64](u.Rows, u.Cols), dense.New[float64](u.Cols, u.Cols)
	MultiplyTo(ku, op, u)
	dense.TransMul(gram, u, ku)
	kappa, s, err := Symmetric(gram)
	if err != nil {
		return nil, 0, err
	}
	dense.RotateColumns(u, u.Cols, s)
	dense.RotateColumns(ku, u.Cols, s)
	return kappa, worstResidual(u, ku, kappa), nil
}

// Residual returns max_j ‖K u_j − κ_j u_j‖₂ / (κ_1 ‖u_j‖₂), by one product with K for each column.
func Residual(op Operator[float64], u dense.Matrix[float64], kappa []float64) float64 {
	ku := dense.New[float64](u.Rows, u.Cols)
	MultiplyTo(ku, op, u)
	return worstResidual(u, ku, kappa)
}

// worstResidual is Residual for a given ku = K u, which it overwrites.
func worstResidual(u, ku dense.Matrix[float64], kappa []float64) float64 {
	subtractScaled(ku, u, kappa)
	var worst float64
	norms := dense.ColumnNorms(u)
	for j, norm := range dense.ColumnNorms(ku) {
		worst = max(worst, norm/(kappa[0]*norms[j]))
	}
	return worst
}

// subtractScaled subtracts u, with each column times its kappa, from ku.
func subtractScaled[T gemm.Float](ku, u dense.Matrix[T], kappa []float64) {
	parallel.Rows(u.Rows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to := dense.Row(ku, i)
			for j, x := range dense.Row(u, i) {
				to[j] -= T(kappa[j]) * x
			}
		}
	})
}
