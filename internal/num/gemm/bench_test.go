package gemm

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/test/peak"
)

// A benchShape is a product with an m×k op(A) and a k×n B.
type benchShape struct {
	m, n, k int
	form    Form // of A
}

func (s benchShape) String() string {
	return fmt.Sprintf("m=%d/n=%d/k=%d/transposed=%t", s.m, s.n, s.k, s.form)
}

func (s benchShape) flops() float64 { return 2 * float64(s.m) * float64(s.n) * float64(s.k) }

// The products of training: square, a tall matrix with a block of vectors from
// both sides, a rotation, and a dense symmetric matrix with a block of vectors.
var benchShapes = []benchShape{
	{32, 32, 32, Plain},
	{256, 256, 256, Plain},
	{1500, 1500, 1500, Plain},
	{2000, 2000, 2000, Plain},
	{1000, 32, 17770, Transposed},
	{1000, 64, 17770, Transposed},
	{3000, 64, 17770, Transposed},
	{17770, 32, 1000, Plain},
	{17770, 64, 1000, Plain},
	{17770, 64, 3000, Plain},
	{17770, 1000, 2000, Plain},
	{17770, 64, 17770, Plain},
}

// gonumWork is the number of operations up to which gonum's slower product is
// measured too.
const gonumWork = 2e10

func benchMatrix[T Float](rows, cols int) Matrix[T] {
	a := Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: make([]T, rows*cols)}
	for i := range a.Data {
		a.Data[i] = T(i%17) - 8
	}
	return a
}

func reportSpeed(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkMulAdd reports the speed, its share of the processors' peak, and its ratio
// to the speed of gonum. The peak and gonum are measured in turns with the product, on
// the same number of processors, and the median of the ratios is reported.
func BenchmarkMulAdd(b *testing.B) {
	for _, s := range benchShapes {
		b.Run("float32/"+s.String(), func(b *testing.B) {
			loop, _ := peak.Float32(inUse32.name)
			benchmarkMulAdd(b, s, loop, func(t blas.Transpose, x, y, c Matrix[float32]) {
				general := func(a Matrix[float32]) blas32.General {
					return blas32.General{
						Rows: a.Rows, Cols: a.Cols, Stride: a.Stride, Data: a.Data,
					}
				}
				blas32.Gemm(t, blas.NoTrans, 1, general(x), general(y), 1, general(c))
			})
		})
		b.Run("float64/"+s.String(), func(b *testing.B) {
			if s.m*s.k > 1e8 {
				b.Skip("too large a matrix in float64")
			}
			loop, _ := peak.Float64(inUse64.name)
			benchmarkMulAdd(b, s, loop, func(t blas.Transpose, x, y, c Matrix[float64]) {
				blas64.Gemm(t, blas.NoTrans, 1, blas64.General(x),
					blas64.General(y), 1, blas64.General(c))
			})
		})
	}
}

func benchmarkMulAdd[T Float](
	b *testing.B, s benchShape, loop peak.Loop, gonum func(t blas.Transpose, x, y, c Matrix[T]),
) {
	rows, cols, trans := s.m, s.k, blas.NoTrans
	if s.form == Transposed {
		rows, cols, trans = cols, rows, blas.Trans
	}
	x, y, c := benchMatrix[T](rows, cols), benchMatrix[T](s.k, s.n), benchMatrix[T](s.m, s.n)
	var toPeak, toGonum []float64
	for b.Loop() {
		begin := time.Now()
		MulAdd(c, 1, s.form, x, Plain, y)
		took := time.Since(begin).Seconds()
		b.StopTimer()
		if best := speed(loop, s.flops()); best > 0 {
			toPeak = append(toPeak, 100*s.flops()/took/best)
		}
		if s.flops() < gonumWork && len(toGonum) < 5 {
			begin = time.Now()
			gonum(trans, x, y, c)
			toGonum = append(toGonum, time.Since(begin).Seconds()/took)
		}
		b.StartTimer()
	}
	reportSpeed(b, s.flops())
	if len(toPeak) > 0 {
		b.ReportMetric(median(toPeak), "%peak")
	}
	if len(toGonum) > 0 {
		b.ReportMetric(median(toGonum), "x-gonum")
	}
}

// speed returns the operations per second of the loop on all processors together.
func speed(loop peak.Loop, flops float64) float64 {
	const least = 5e8 // keeps the start of the workers out of the measurement
	procs := runtime.GOMAXPROCS(0)
	done := make([]float64, procs)
	begin := time.Now()
	parallel.Tasks(procs, func(i int) { done[i] = loop.Run(max(least, flops/float64(procs))) })
	took, sum := time.Since(begin).Seconds(), 0.0
	for _, d := range done {
		sum += d
	}
	return sum / took
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
