// Package dense holds the operations on dense matrices that the eigensolver and the graphs share.
//
// # Conventions
//
// Matrices are row-major. Large ones may be of float32; small ones, which belong to a projected
// problem, are of float64 throughout. Functions write to their first argument. A wrong shape is a
// bug of the caller and panics.
//
// Results do not depend on the number of processors: loops split the output, or a sum into strips
// of fixed length that are added in order.
package dense

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
)

// Matrix is a row-major matrix or a view of a block of one.
type Matrix[T gemm.Float] = gemm.Matrix[T]

// New returns a matrix of zeros.
func New[T gemm.Float](rows, cols int) Matrix[T] {
	return Matrix[T]{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]T, rows*cols)}
}

// Identity returns the n×n identity matrix.
func Identity(n int) Matrix[float64] {
	eye := New[float64](n, n)
	for i := range n {
		eye.Data[i*n+i] = 1
	}
	return eye
}

// Block is the view a[i0:i1, j0:j1].
func Block[T gemm.Float](a Matrix[T], i0, i1, j0, j1 int) Matrix[T] {
	v := Matrix[T]{Rows: i1 - i0, Cols: j1 - j0, Stride: a.Stride}
	if v.Rows > 0 && v.Cols > 0 {
		v.Data = a.Data[i0*a.Stride+j0 : (i1-1)*a.Stride+j1]
	}
	return v
}

// Columns is the view a[:, j0:j1].
func Columns[T gemm.Float](a Matrix[T], j0, j1 int) Matrix[T] { return Block(a, 0, a.Rows, j0, j1) }

// Row is row i of a.
func Row[T gemm.Float](a Matrix[T], i int) []T {
	if a.Cols == 0 {
		return nil
	}
	return a.Data[i*a.Stride : i*a.Stride+a.Cols]
}

// copyStrip is the number of rows that one processor copies; fewer rows do not pay a second one.
const copyStrip = 1024

// Copy sets dst = src, rounded to the type of dst.
func Copy[D, S gemm.Float](dst Matrix[D], src Matrix[S]) {
	parallel.Strips(dst.Rows, copyStrip, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			Convert(Row(dst, i), Row(src, i))
		}
	})
}

// Convert sets dst = src for vectors, rounded to the type of dst.
func Convert[D, S gemm.Float](dst []D, src []S) {
	if same, ok := any(src).([]D); ok {
		copy(dst, same)
		return
	}
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = D(v)
	}
}

// Add sets dst += src, in the type of dst.
func Add[D, S gemm.Float](dst Matrix[D], src Matrix[S]) {
	for i := range dst.Rows {
		to := Row(dst, i)
		for j, v := range Row(src, i) {
			to[j] += D(v)
		}
	}
}

// Clear sets a = 0.
func Clear[T gemm.Float](a Matrix[T]) {
	for i := range a.Rows {
		clear(Row(a, i))
	}
}

// ColumnNorms returns the Euclidean length of each column.
func ColumnNorms[T gemm.Float](a Matrix[T]) []float64 {
	norms := DotColumns(a, a)
	for j, s := range norms {
		norms[j] = math.Sqrt(s)
	}
	return norms
}

// sumStrip is the number of rows that one processor adds up, in float64.
const sumStrip = 4096

// DotColumns returns the dot product of each column of a with the same column of b, added up in
// float64.
func DotColumns[T gemm.Float](a, b Matrix[T]) []float64 {
	partial := New[float64]((a.Rows+sumStrip-1)/sumStrip, a.Cols)
	parallel.Strips(a.Rows, sumStrip, func(lo, hi int) {
		sums := Row(partial, lo/sumStrip)
		for i := lo; i < hi; i++ {
			with := Row(b, i)
			for j, x := range Row(a, i) {
				sums[j] += float64(x) * float64(with[j])
			}
		}
	})
	total := make([]float64, a.Cols)
	for strip := range partial.Rows {
		floats.Add(total, Row(partial, strip))
	}
	return total
}

// MaxColumnNorm returns the length of the longest column.
func MaxColumnNorm[T gemm.Float](a Matrix[T]) float64 { return floats.Max(ColumnNorms(a)) }

// MinColumnNorm returns the length of the shortest column.
func MinColumnNorm[T gemm.Float](a Matrix[T]) float64 { return floats.Min(ColumnNorms(a)) }

// MulAdd sets c += alpha a b.
func MulAdd[T gemm.Float](c Matrix[T], alpha T, a, b Matrix[T]) {
	gemm.MulAdd(c, alpha, gemm.Plain, a, gemm.Plain, b)
}

// TransMul sets c = aᵀ b.
func TransMul[T gemm.Float](c, a, b Matrix[T]) {
	Clear(c)
	gemm.MulAdd(c, 1, gemm.Transposed, a, gemm.Plain, b)
}

// Gram returns aᵀ a.
func Gram[T gemm.Float](a Matrix[T]) Matrix[T] {
	c := New[T](a.Cols, a.Cols)
	gemm.SyrkT(c, 1, a)
	return c
}

// rotateStrip is the number of rows that RotateColumns works on at a time.
const rotateStrip = 2048

// RotateColumns sets a[:, :s.Cols] = a[:, :p]·s, a strip of rows at a time: no second n×p matrix is
// needed. s is rounded to the type of a.
func RotateColumns[T gemm.Float](a Matrix[T], p int, s Matrix[float64]) {
	turn := New[T](s.Rows, s.Cols)
	Copy(turn, s)
	out := New[T](min(rotateStrip, a.Rows), s.Cols)
	for lo := 0; lo < a.Rows; lo += rotateStrip {
		hi := min(lo+rotateStrip, a.Rows)
		strip := Block(out, 0, hi-lo, 0, s.Cols)
		Clear(strip)
		MulAdd(strip, 1, Block(a, lo, hi, 0, p), turn)
		Copy(Block(a, lo, hi, 0, s.Cols), strip)
	}
}

// ScaleColumns multiplies column j of a by f(j).
func ScaleColumns(a Matrix[float64], f func(j int) float64) {
	factor := make([]float64, a.Cols)
	for j := range factor {
		factor[j] = f(j)
	}
	for i := range a.Rows {
		floats.Mul(Row(a, i), factor)
	}
}

// AddScaled sets dst += alpha x for vectors, in the type of the operands.
func AddScaled[T gemm.Float](dst []T, alpha T, x []T) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += alpha * v
	}
}

// ScaleTo sets dst = alpha x for vectors. dst may be x.
func ScaleTo[T gemm.Float](dst []T, alpha T, x []T) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = alpha * v
	}
}
