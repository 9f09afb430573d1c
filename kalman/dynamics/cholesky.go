package dynamics

import (
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/lapack"
)

// choleskyBlock is how many rows are factored at once: enough that nearly all work is products of
// matrices.
const choleskyBlock = 128

// cholesky is A = UᵀU in place of A, whose upper triangle alone is read. Blocks on the diagonal are
// kept as their inverses, because a product with the inverse is many times faster than solving;
// what that loses in accuracy depends on the condition of the block alone.
type cholesky[T gemm.Float] struct {
	a       gemm.Matrix[T]
	inverse []gemm.Matrix[T] // U_DD⁻¹ of each block D
}

// newCholesky factors the n×n matrix a, which it overwrites. ok is false if a is not positive
// definite to rounding error. n³/3 operations.
func newCholesky[T gemm.Float](a []T, n int) (c *cholesky[T], ok bool) {
	c = &cholesky[T]{a: gemm.Matrix[T]{Rows: n, Cols: n, Stride: n, Data: a}}
	scratch := make([]T, choleskyBlock*n)
	for lo := 0; lo < n; lo += choleskyBlock {
		hi := min(lo+choleskyBlock, n)
		inverse, ok := invertFactor(view(c.a, lo, hi, lo, hi))
		if !ok {
			return nil, false
		}
		c.inverse = append(c.inverse, inverse)
		if hi == n {
			break
		}
		right := view(c.a, lo, hi, hi, n)
		multiply(right, gemm.Transposed, inverse, scratch)
		gemm.MulAddUpper(view(c.a, hi, n, hi, n), -1, gemm.Transposed, right, gemm.Plain, right)
	}
	return c, true
}

// solve replaces b, n×cols, by A⁻¹b. 2n²·cols operations.
func (c *cholesky[T]) solve(b []T, cols int) {
	n := c.a.Rows
	x := gemm.Matrix[T]{Rows: n, Cols: cols, Stride: cols, Data: b}
	scratch := make([]T, choleskyBlock*cols)
	for d, inverse := range c.inverse { // Uᵀy = b
		lo, hi := d*choleskyBlock, d*choleskyBlock+inverse.Rows
		part := view(x, lo, hi, 0, cols)
		multiply(part, gemm.Transposed, inverse, scratch)
		gemm.MulAdd(view(x, hi, n, 0, cols), -1, gemm.Transposed,
			view(c.a, lo, hi, hi, n), gemm.Plain, part)
	}
	for d := len(c.inverse) - 1; d >= 0; d-- { // Ux = y
		lo, hi := d*choleskyBlock, d*choleskyBlock+c.inverse[d].Rows
		part := view(x, lo, hi, 0, cols)
		multiply(part, gemm.Plain, c.inverse[d], scratch)
		gemm.MulAdd(view(x, 0, lo, 0, cols), -1, gemm.Plain,
			view(c.a, 0, lo, lo, hi), gemm.Plain, part)
	}
}

// multiply sets x = op(f)·x for a square f, by way of scratch.
func multiply[T gemm.Float](x gemm.Matrix[T], form gemm.Form, f gemm.Matrix[T], scratch []T) {
	product := gemm.Matrix[T]{
		Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: scratch[:x.Rows*x.Cols],
	}
	clear(product.Data)
	gemm.MulAdd(product, 1, form, f, gemm.Plain, x)
	for i := range x.Rows {
		copy(x.Data[i*x.Stride:i*x.Stride+x.Cols], product.Data[i*product.Stride:])
	}
}

// invertFactor returns U⁻¹ with zeros below the diagonal, for a = UᵀU of which the upper triangle
// is given.
func invertFactor[T gemm.Float](a gemm.Matrix[T]) (inverse gemm.Matrix[T], ok bool) {
	n := a.Rows
	exact := gemm.Matrix[float64]{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
	for i := range n {
		for j := i; j < n; j++ {
			exact.Data[i*n+j] = float64(a.Data[i*a.Stride+j])
		}
	}
	if _, ok = lapack.Cholesky(exact); !ok || !lapack.InvertTriangle(exact) {
		return inverse, false
	}
	inverse = gemm.Matrix[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
	for i, v := range exact.Data {
		inverse.Data[i] = T(v)
	}
	return inverse, true
}

// view is the block of rows top to bottom and columns left to right.
func view[T gemm.Float](a gemm.Matrix[T], top, bottom, left, right int) gemm.Matrix[T] {
	v := gemm.Matrix[T]{Rows: bottom - top, Cols: right - left, Stride: a.Stride}
	if v.Rows > 0 && v.Cols > 0 {
		v.Data = a.Data[top*a.Stride+left:]
	}
	return v
}
