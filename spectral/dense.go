package spectral

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/internal/gemm"
	"github.com/gsimc/gsimc/internal/parallel"
)

// matrix is a row-major matrix or a block of one. Large ones may be of float32; small ones, which belong to the projected
// problem, are of float64 throughout.
type matrix[T gemm.Float] = gemm.Matrix[T]

func newMatrix[T gemm.Float](rows, cols int) matrix[T] {
	return matrix[T]{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]T, rows*cols)}
}

func newGeneral(rows, cols int) matrix[float64] { return newMatrix[float64](rows, cols) }

// block is the view a[i0:i1, j0:j1].
func block[T gemm.Float](a matrix[T], i0, i1, j0, j1 int) matrix[T] {
	v := matrix[T]{Rows: i1 - i0, Cols: j1 - j0, Stride: a.Stride}
	if v.Rows > 0 && v.Cols > 0 {
		v.Data = a.Data[i0*a.Stride+j0 : (i1-1)*a.Stride+j1]
	}
	return v
}

// columns is the view a[:, j0:j1].
func columns[T gemm.Float](a matrix[T], j0, j1 int) matrix[T] { return block(a, 0, a.Rows, j0, j1) }

func row[T gemm.Float](a matrix[T], i int) []T {
	if a.Cols == 0 {
		return nil
	}
	return a.Data[i*a.Stride : i*a.Stride+a.Cols]
}

// copyMatrix sets dst = src, rounded to the type of dst.
func copyMatrix[D, S gemm.Float](dst matrix[D], src matrix[S]) {
	parallel.Strips(dst.Rows, copyStrip, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			convert(row(dst, i), row(src, i))
		}
	})
}

// copyStrip is the number of rows that are worth handing to another processor.
const copyStrip = 1024

// convert sets dst = src, rounded to the type of dst.
func convert[D, S gemm.Float](dst []D, src []S) {
	if same, ok := any(src).([]D); ok {
		copy(dst, same)
		return
	}
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = D(v)
	}
}

func addMatrix[D, S gemm.Float](dst matrix[D], src matrix[S]) {
	for i := range dst.Rows {
		to := row(dst, i)
		for j, v := range row(src, i) {
			to[j] += D(v)
		}
	}
}

func clearMatrix[T gemm.Float](a matrix[T]) {
	for i := range a.Rows {
		clear(row(a, i))
	}
}

// sumStrip is the number of rows that are added up by one processor, in float64; the sums of the strips are added in order.
const sumStrip = 4096

// columnNorms returns the length of each column.
func columnNorms[T gemm.Float](a matrix[T]) []float64 {
	norms := dotColumns(a, a)
	for j, s := range norms {
		norms[j] = math.Sqrt(s)
	}
	return norms
}

// dotColumns returns the dot product of each column of a with the same column of b, added up in float64.
func dotColumns[T gemm.Float](a, b matrix[T]) []float64 {
	partial := newGeneral((a.Rows+sumStrip-1)/sumStrip, a.Cols)
	parallel.Strips(a.Rows, sumStrip, func(lo, hi int) {
		sums := row(partial, lo/sumStrip)
		for i := lo; i < hi; i++ {
			with := row(b, i)
			for j, x := range row(a, i) {
				sums[j] += float64(x) * float64(with[j])
			}
		}
	})
	total := make([]float64, a.Cols)
	for strip := range partial.Rows {
		floats.Add(total, row(partial, strip))
	}
	return total
}

func maxColumnNorm[T gemm.Float](a matrix[T]) float64 { return floats.Max(columnNorms(a)) }

func minColumnNorm[T gemm.Float](a matrix[T]) float64 { return floats.Min(columnNorms(a)) }

// mulAdd sets c += alpha a b.
func mulAdd[T gemm.Float](c matrix[T], alpha T, a, b matrix[T]) {
	gemm.MulAdd(c, alpha, gemm.Plain, a, gemm.Plain, b)
}

// transMul sets c = aᵀ b.
func transMul[T gemm.Float](c, a, b matrix[T]) {
	clearMatrix(c)
	gemm.MulAdd(c, 1, gemm.Transposed, a, gemm.Plain, b)
}

// gramMatrix returns aᵀ a.
func gramMatrix[T gemm.Float](a matrix[T]) matrix[T] {
	c := newMatrix[T](a.Cols, a.Cols)
	gemm.SyrkT(c, 1, a)
	return c
}

// rotateStrip is the number of rows that rotateColumns works on at a time.
const rotateStrip = 2048

// rotateColumns sets a[:, :s.Cols] = a[:, :p]·s, a strip of rows at a time, so that no second n×p matrix is needed. s is
// rounded to the type of a.
func rotateColumns[T gemm.Float](a matrix[T], p int, s matrix[float64]) {
	turn := newMatrix[T](s.Rows, s.Cols)
	copyMatrix(turn, s)
	out := newMatrix[T](min(rotateStrip, a.Rows), s.Cols)
	for lo := 0; lo < a.Rows; lo += rotateStrip {
		hi := min(lo+rotateStrip, a.Rows)
		strip := block(out, 0, hi-lo, 0, s.Cols)
		clearMatrix(strip)
		mulAdd(strip, 1, block(a, lo, hi, 0, p), turn)
		copyMatrix(block(a, lo, hi, 0, s.Cols), strip)
	}
}

// scaleColumns multiplies column j of a by f(j).
func scaleColumns(a matrix[float64], f func(j int) float64) {
	factor := make([]float64, a.Cols)
	for j := range factor {
		factor[j] = f(j)
	}
	for i := range a.Rows {
		floats.Mul(row(a, i), factor)
	}
}

// addScaled sets dst += alpha x, in the type of the operands.
func addScaled[T gemm.Float](dst []T, alpha T, x []T) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += alpha * v
	}
}
