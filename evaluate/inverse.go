package evaluate

import (
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/gemm"
)

// inverseBlock is how many rows and columns [negInverse] pivots on at once:
// enough that nearly all work is products of matrices that fit the caches.
const inverseBlock = 256

// negInverse replaces the n×n symmetric positive definite matrix a, row-major,
// of which it reads the upper triangle only, by −a^{-1}, of which the upper
// triangle is valid. step, if not nil, is told how many of all steps are done.
//
// It is the symmetric sweep operator (J. H. Goodnight, "A Tutorial on the SWEEP
// Operator", 1979) on blocks: with D the pivot block and C its column of
// blocks, one step does
//
//	A ← A − C D^{-1} Cᵀ,   C ← C D^{-1},   D ← −D^{-1}
//
// and keeps A symmetric; after all blocks A is −a^{-1}. Every pivot block is a
// Schur complement of a, positive definite as a is, so nothing need be
// permuted. That is n³ operations, as many as Cholesky's factorisation followed
// by the inverse, in one kind of product, and in place but for 2n·inverseBlock
// numbers.
func negInverse(a []float64, n int, step func(done, total int)) error {
	s := sweep{
		n: n, a: a, column: make([]float64, n*inverseBlock),
		scaled: make([]float64, n*inverseBlock),
	}
	total := (n + inverseBlock - 1) / inverseBlock
	for k := range total {
		if err := s.pivot(k*inverseBlock, min((k+1)*inverseBlock, n)); err != nil {
			return err
		}
		if step != nil {
			step(k+1, total)
		}
	}
	return nil
}

// sweep is the state of [negInverse].
type sweep struct {
	n              int
	a              []float64
	column, scaled []float64 // C and C D^{-1} of the running step: n rows, as wide as the block
}

// pivot sweeps rows and columns lo to hi. The product covers them too, as C
// has a place for D, and what it leaves there is overwritten.
func (s *sweep) pivot(lo, hi int) error {
	inverse, err := s.invertBlock(lo, hi)
	if err != nil {
		return err
	}
	s.readColumn(lo, hi)
	w := hi - lo
	column, scaled := dense(s.column, s.n, w), dense(s.scaled, s.n, w)
	clear(scaled.Data)
	gemm.MulAdd(scaled, 1, gemm.Plain, column, gemm.Plain, inverse)
	gemm.MulAddUpper(dense(s.a, s.n, s.n), -1, gemm.Plain, scaled, gemm.Transposed, column)
	s.writeColumn(lo, hi, inverse.Data)
	return nil
}

// invertBlock returns the inverse of the diagonal block of rows lo to hi.
func (s *sweep) invertBlock(lo, hi int) (gemm.Matrix[float64], error) {
	d := mat.NewSymDense(hi-lo, nil)
	for i := lo; i < hi; i++ {
		for j := i; j < hi; j++ {
			d.SetSym(i-lo, j-lo, s.a[i*s.n+j])
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(d) {
		return gemm.Matrix[float64]{}, errors.New(
			"the matrix is not positive definite to rounding error")
	}
	if err := factor.InverseTo(d); err != nil {
		return gemm.Matrix[float64]{}, err
	}
	return gemm.Matrix[float64](mat.DenseCopyOf(d).RawMatrix()), nil
}

// readColumn copies columns lo to hi of the symmetric matrix to s.column.
func (s *sweep) readColumn(lo, hi int) {
	w := hi - lo
	for i := range hi {
		copy(s.column[i*w:(i+1)*w], s.a[i*s.n+lo:])
	}
	for k := range w {
		row := s.a[(lo+k)*s.n : (lo+k+1)*s.n]
		for i := lo + k; i < s.n; i++ {
			s.column[i*w+k] = row[i]
		}
	}
}

// writeColumn puts s.scaled and the negated inverse of the pivot block in the
// place of columns lo to hi.
func (s *sweep) writeColumn(lo, hi int, inverse []float64) {
	w := hi - lo
	for i := range lo {
		copy(s.a[i*s.n+lo:], s.scaled[i*w:(i+1)*w])
	}
	for k := range w {
		row := s.a[(lo+k)*s.n : (lo+k+1)*s.n]
		for j := k; j < w; j++ {
			row[lo+j] = -inverse[k*w+j]
		}
		for i := hi; i < s.n; i++ {
			row[i] = s.scaled[i*w+k]
		}
	}
}

// dense is the rows×cols matrix at the start of data.
func dense(data []float64, rows, cols int) gemm.Matrix[float64] {
	return gemm.Matrix[float64]{Rows: rows, Cols: cols, Data: data[:rows*cols], Stride: cols}
}
