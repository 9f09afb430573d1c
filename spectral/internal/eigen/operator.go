package eigen

import (
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// An Operator is a symmetric n×n matrix known by its products with blocks.
type Operator[T gemm.Float] interface {
	// Dim returns n.
	Dim() int
	// Strip returns the number of columns to multiply at a time.
	Strip() int
	// ApplyTo sets dst = K·x for n×b row-major blocks. dst and x do not overlap. The scratch may
	// grow with b; see MultiplyTo for wide blocks.
	ApplyTo(dst, x []T, b int)
}

// MultiplyTo sets dst = K·x for blocks of any width, a strip of columns at a time, so that the
// scratch stays small.
func MultiplyTo[T gemm.Float](dst dense.Matrix[T], op Operator[T], x dense.Matrix[T]) {
	for lo := 0; lo < x.Cols; lo += op.Strip() {
		hi := min(lo+op.Strip(), x.Cols)
		// Whole strips have fast kernels, so zero columns fill up the last one.
		width := roundUp(hi-lo, min(BlockSize, op.Strip()))
		in, out := dense.New[T](x.Rows, width), dense.New[T](x.Rows, width)
		dense.Copy(dense.Columns(in, 0, hi-lo), dense.Columns(x, lo, hi))
		op.ApplyTo(out.Data, in.Data, width)
		dense.Copy(dense.Columns(dst, lo, hi), dense.Columns(out, 0, hi-lo))
	}
}

func roundUp(x, multiple int) int { return (x + multiple - 1) / multiple * multiple }

// Counting is an operator that counts the vectors multiplied.
type Counting[T gemm.Float] struct {
	Operator[T]
	Vectors int
}

// ApplyTo multiplies and counts.
func (c *Counting[T]) ApplyTo(dst, x []T, b int) {
	c.Vectors += b
	c.Operator.ApplyTo(dst, x, b)
}

// Rounded is an operator of float64 whose arguments and products are rounded to float32.
type Rounded struct{ Operator[float32] }

// ApplyTo multiplies in float32.
func (r Rounded) ApplyTo(dst, x []float64, b int) {
	in, out := make([]float32, len(x)), make([]float32, len(x))
	parallel.Strips(len(x), combineStrip, func(lo, hi int) { dense.Convert(in[lo:hi], x[lo:hi]) })
	r.Operator.ApplyTo(out, in, b)
	parallel.Strips(len(x), combineStrip,
		func(lo, hi int) { dense.Convert(dst[lo:hi], out[lo:hi]) })
}
