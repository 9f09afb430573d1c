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
type cholesky struct {
	a       gemm.Matrix[float64]
	inverse []gemm.Matrix[float64] // U_DD⁻¹ of each block D
}

// newCholesky factors the n×n matrix a, which it overwrites. ok is false if a is not positive
// definite to rounding error. n³/3 operations.
func newCholesky(a []float64, n int) (c *cholesky, ok bool) {
	c = &cholesky{a: gemm.Matrix[float64]{Rows: n, Cols: n, Stride: n, Data: a}}
	scratch := make([]float64, choleskyBlock*n)
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
func (c *cholesky) solve(b []float64, cols int) {
	n := c.a.Rows
	x := gemm.Matrix[float64]{Rows: n, Cols: cols, Stride: cols, Data: b}
	scratch := make([]float64, choleskyBlock*cols)
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
func multiply(x gemm.Matrix[float64], form gemm.Form, f gemm.Matrix[float64], scratch []float64) {
	product := gemm.Matrix[float64]{
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
func invertFactor(a gemm.Matrix[float64]) (inverse gemm.Matrix[float64], ok bool) {
	n := a.Rows
	inverse = gemm.Matrix[float64]{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
	for i := range n {
		copy(inverse.Data[i*n+i:(i+1)*n], a.Data[i*a.Stride+i:])
	}
	_, ok = lapack.Cholesky(inverse)
	return inverse, ok && lapack.InvertTriangle(inverse)
}

// view is the block of rows top to bottom and columns left to right.
func view(a gemm.Matrix[float64], top, bottom, left, right int) gemm.Matrix[float64] {
	v := gemm.Matrix[float64]{Rows: bottom - top, Cols: right - left, Stride: a.Stride}
	if v.Rows > 0 && v.Cols > 0 {
		v.Data = a.Data[top*a.Stride+left:]
	}
	return v
}
