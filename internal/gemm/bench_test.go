package gemm

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// The products of training: square, a tall matrix with a block of vectors from
// both sides, and a rotation.
var benchShapes = []struct {
	m, n, k int
	form    Form // of A
}{
	{32, 32, 32, Plain},
	{256, 256, 256, Plain},
	{1024, 1024, 1024, Plain},
	{1800, 32, 16384, Transposed},
	{16384, 32, 1800, Plain},
	{2048, 1400, 1800, Plain},
}

func benchMatrix[T Float](rows, cols int) Matrix[T] {
	a := Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: make([]T, rows*cols)}
	for i := range a.Data {
		a.Data[i] = T(i%17) - 8
	}
	return a
}

func reportSpeed(b *testing.B, work float64) {
	b.ReportMetric(2*work*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkMulAdd(b *testing.B) {
	b.Run("float64", benchmarkMulAdd[float64])
	b.Run("float32", benchmarkMulAdd[float32])
}

func benchmarkMulAdd[T Float](b *testing.B) {
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("m=%d/n=%d/k=%d/transposed=%t", s.m, s.n, s.k, s.form), func(b *testing.B) {
			rows, cols := s.m, s.k
			if s.form == Transposed {
				rows, cols = cols, rows
			}
			x, y, c := benchMatrix[T](rows, cols), benchMatrix[T](s.k, s.n), benchMatrix[T](s.m, s.n)
			for b.Loop() {
				MulAdd(c, 1, s.form, x, Plain, y)
			}
			reportSpeed(b, float64(s.m)*float64(s.n)*float64(s.k))
		})
	}
}

func BenchmarkSyrkT(b *testing.B) {
	for _, s := range []struct{ n, k int }{{32, 16384}, {1024, 16384}} {
		b.Run(fmt.Sprintf("float64/n=%d/k=%d", s.n, s.k), func(b *testing.B) {
			x, c := benchMatrix[float64](s.k, s.n), benchMatrix[float64](s.n, s.n)
			for b.Loop() {
				SyrkT(c, 1, x)
			}
			reportSpeed(b, float64(s.n)*float64(s.n+1)/2*float64(s.k))
		})
	}
}

// BenchmarkGonum is the product of gonum's BLAS, for comparison.
func BenchmarkGonum(b *testing.B) {
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("float64/m=%d/n=%d/k=%d/transposed=%t", s.m, s.n, s.k, s.form), func(b *testing.B) {
			rows, cols, form := s.m, s.k, blas.NoTrans
			if s.form == Transposed {
				rows, cols, form = cols, rows, blas.Trans
			}
			x, y, c := benchMatrix[float64](rows, cols), benchMatrix[float64](s.k, s.n), benchMatrix[float64](s.m, s.n)
			for b.Loop() {
				blas64.Gemm(form, blas.NoTrans, 1, blas64.General(x), blas64.General(y), 1, blas64.General(c))
			}
			reportSpeed(b, float64(s.m)*float64(s.n)*float64(s.k))
		})
	}
}
