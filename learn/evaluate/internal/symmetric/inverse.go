package symmetric

import (
	"errors"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/lapack"
)

// inverseBlock is how many rows and columns [Matrix.NegInvert] pivots on at once: enough that
// nearly all work is products of matrices that fit the caches.
const inverseBlock = 256

// NegInvert replaces the positive definite matrix a by −a^{-1}. It is an error if a is not positive
// definite to rounding error; a is then spoilt. step, if not nil, is told how many of all steps are
// done.
//
// It is the symmetric sweep operator (J. H. Goodnight, "A Tutorial on the SWEEP Operator", 1979) on
// blocks. With D the pivot block and C its column of blocks, one step does
//
//	A ← A − C D^{-1} Cᵀ,   C ← C D^{-1},   D ← −D^{-1}
//
// and keeps A symmetric. After all blocks A is −a^{-1}. Every pivot block is a Schur complement of
// a, positive definite as a is, so nothing need be permuted. That is n³ operations, as many as
// Cholesky's factorisation followed by the inverse, in one kind of product, and in place but for
// 2n·inverseBlock numbers.
func (a Matrix) NegInvert(step func(done, total int)) error {
	s := sweep{
		a: a, column: make([]float64, a.n*inverseBlock), scaled: make([]float64, a.n*inverseBlock),
	}
	total := (a.n + inverseBlock - 1) / inverseBlock
	for k := range total {
		if err := s.pivot(k*inverseBlock, min((k+1)*inverseBlock, a.n)); err != nil {
			return err
		}
		if step != nil {
			step(k+1, total)
		}
	}
	return nil
}

// sweep is the state of [Matrix.NegInvert].
type sweep struct {
	a              Matrix
	column, scaled []float64 // C and C D^{-1} of the running step: n rows, as wide as the block
}

// pivot sweeps rows and columns lo to hi. The product covers them too, as C has a place for D, and
// what it leaves there is overwritten.
func (s *sweep) pivot(lo, hi int) error {
	inverse, err := s.invertBlock(lo, hi)
	if err != nil {
		return err
	}
	s.readColumn(lo, hi)
	n, w := s.a.n, hi-lo
	clear(s.scaled)
	gemm.MulAdd(rows(s.scaled, 0, n, w), 1, gemm.Plain, rows(s.column, 0, n, w),
		gemm.Plain, inverse)
	for top := 0; top < n; top += stripRows {
		strip := s.a.strip(top)
		gemm.MulAdd(strip, -1, gemm.Plain, rows(s.scaled, top, top+strip.Rows, w),
			gemm.Transposed, rows(s.column, top, n, w))
	}
	s.writeColumn(lo, hi, inverse.Data)
	return nil
}

// invertBlock returns the inverse of the diagonal block of rows lo to hi.
func (s *sweep) invertBlock(lo, hi int) (gemm.Matrix[float64], error) {
	w := hi - lo
	d := rows(make([]float64, w*w), 0, w, w)
	for i := range w {
		copy(d.Data[i*w+i:], s.a.Row(lo + i)[:w-i])
	}
	if !lapack.Invert(d) {
		return d, errors.New("the matrix is not positive definite to rounding error")
	}
	for i := range w {
		for j := range i {
			d.Data[i*w+j] = d.Data[j*w+i]
		}
	}
	return d, nil
}

// readColumn copies columns lo to hi of the symmetric matrix to s.column.
func (s *sweep) readColumn(lo, hi int) {
	w := hi - lo
	for i := range lo {
		copy(s.column[i*w:(i+1)*w], s.a.Row(i)[lo-i:])
	}
	for k := range w {
		row := s.a.Row(lo + k)
		copy(s.column[(lo+k)*w+k:(lo+k+1)*w], row)
		for j, v := range row {
			s.column[(lo+k+j)*w+k] = v
		}
	}
}

// writeColumn puts s.scaled and the negated inverse of the pivot block in the place of columns lo
// to hi.
func (s *sweep) writeColumn(lo, hi int, inverse []float64) {
	w := hi - lo
	for i := range lo {
		copy(s.a.Row(i)[lo-i:], s.scaled[i*w:(i+1)*w])
	}
	for k := range w {
		row := s.a.Row(lo + k)
		for j := range row {
			if j < w-k {
				row[j] = -inverse[k*w+k+j]
			} else {
				row[j] = s.scaled[(lo+k+j)*w+k]
			}
		}
	}
}

// rows returns the rows lo to hi of a row-major matrix with cols columns.
func rows(data []float64, lo, hi, cols int) gemm.Matrix[float64] {
	return gemm.Matrix[float64]{
		Rows: hi - lo, Cols: cols, Data: data[lo*cols : hi*cols], Stride: cols,
	}
}
