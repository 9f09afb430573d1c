package spectral

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/internal/gemm"
)

// Operand forms of a matrix-vector product, for the BLAS.
const (
	plain      = blas.NoTrans
	transposed = blas.Trans
)

func newGeneral(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float64, rows*cols)}
}

// block is the view a[i0:i1, j0:j1].
func block(a blas64.General, i0, i1, j0, j1 int) blas64.General {
	v := blas64.General{Rows: i1 - i0, Cols: j1 - j0, Stride: a.Stride}
	if v.Rows > 0 && v.Cols > 0 {
		v.Data = a.Data[i0*a.Stride+j0 : (i1-1)*a.Stride+j1]
	}
	return v
}

// columns is the view a[:, j0:j1].
func columns(a blas64.General, j0, j1 int) blas64.General { return block(a, 0, a.Rows, j0, j1) }

func row(a blas64.General, i int) []float64 { return a.Data[i*a.Stride : i*a.Stride+a.Cols] }

func copyGeneral(dst, src blas64.General) {
	for i := range dst.Rows {
		copy(row(dst, i), row(src, i))
	}
}

func addGeneral(dst, src blas64.General) {
	for i := range dst.Rows {
		floats.Add(row(dst, i), row(src, i))
	}
}

func clearGeneral(a blas64.General) {
	for i := range a.Rows {
		clear(row(a, i))
	}
}

func columnNorms(a blas64.General) []float64 {
	sums := make([]float64, a.Cols)
	for i := range a.Rows {
		for j, x := range row(a, i) {
			sums[j] += x * x
		}
	}
	for j, s := range sums {
		sums[j] = math.Sqrt(s)
	}
	return sums
}

func maxColumnNorm(a blas64.General) float64 { return floats.Max(columnNorms(a)) }

func minColumnNorm(a blas64.General) float64 { return floats.Min(columnNorms(a)) }

// operand is a as the products take it.
func operand(a blas64.General) gemm.Matrix[float64] { return gemm.Matrix[float64](a) }

// mulAdd sets c += alpha a b.
func mulAdd(c blas64.General, alpha float64, a, b blas64.General) {
	gemm.MulAdd(operand(c), alpha, gemm.Plain, operand(a), gemm.Plain, operand(b))
}

// transMul sets c = aᵀ b.
func transMul(c, a, b blas64.General) {
	clearGeneral(c)
	gemm.MulAdd(operand(c), 1, gemm.Transposed, operand(a), gemm.Plain, operand(b))
}

// gramMatrix returns aᵀ a.
func gramMatrix(a blas64.General) blas64.General {
	c := newGeneral(a.Cols, a.Cols)
	gemm.SyrkT(operand(c), 1, operand(a))
	return c
}

// rotateStrip is the number of rows that rotateColumns works on at a time.
const rotateStrip = 2048

// rotateColumns sets a[:, :s.Cols] = a[:, :p]·s, a strip of rows at a time, so
// that no second n×p matrix is needed.
func rotateColumns(a blas64.General, p int, s blas64.General) {
	out := newGeneral(min(rotateStrip, a.Rows), s.Cols)
	for lo := 0; lo < a.Rows; lo += rotateStrip {
		hi := min(lo+rotateStrip, a.Rows)
		strip := block(out, 0, hi-lo, 0, s.Cols)
		clearGeneral(strip)
		mulAdd(strip, 1, block(a, lo, hi, 0, p), s)
		copyGeneral(block(a, lo, hi, 0, s.Cols), strip)
	}
}

// scaleColumns multiplies column j of a by f(j).
func scaleColumns(a blas64.General, f func(j int) float64) {
	factor := make([]float64, a.Cols)
	for j := range factor {
		factor[j] = f(j)
	}
	for i := range a.Rows {
		floats.Mul(row(a, i), factor)
	}
}
