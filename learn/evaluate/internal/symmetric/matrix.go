// Package symmetric holds symmetric matrices in half of the memory and inverts them in place, on
// all processors.
package symmetric

import "github.com/gsimc/gsimc/internal/num/gemm"

// stripRows is the height of a strip of a [Matrix]. A higher strip stores more numbers below the
// diagonal, a lower one makes products slower.
const stripRows = 512

// Matrix is the upper triangle of an n×n matrix, in about n²/2 numbers. It is cut into strips of
// stripRows rows. A strip that begins with row lo is a row-major matrix of the columns lo to n, so
// that it can be an operand of package gemm. Its numbers below the diagonal are undefined.
type Matrix struct {
	n    int
	data []float64
}

// New returns the n×n matrix of zeros.
func New(n int) Matrix { return Matrix{n, make([]float64, Len(n))} }

// Len returns the number of numbers that an n×n matrix takes.
func Len(n int) int {
	full, rest := n/stripRows, n%stripRows
	return stripOffset(n, full) + rest*rest
}

// stripOffset returns the place in the data of an n×n matrix where the s-th strip begins, if all
// strips before it are full.
func stripOffset(n, s int) int {
	return stripRows * (s*n - stripRows*(s*(s-1)/2))
}

// strip returns the strip that begins with row lo.
func (m Matrix) strip(lo int) gemm.Matrix[float64] {
	rows, cols := min(stripRows, m.n-lo), m.n-lo
	first := stripOffset(m.n, lo/stripRows)
	return gemm.Matrix[float64]{
		Rows: rows, Cols: cols, Data: m.data[first : first+rows*cols], Stride: cols,
	}
}

// N returns the number of rows.
func (m Matrix) N() int { return m.n }

// Clear sets all elements to 0.
func (m Matrix) Clear() { clear(m.data) }

// Row returns the columns i to n of row i. The slice belongs to m.
func (m Matrix) Row(i int) []float64 {
	lo := i - i%stripRows
	at := stripOffset(m.n, lo/stripRows) + (i-lo)*(m.n-lo) + i - lo
	return m.data[at : at+m.n-i]
}

// RowTo stores all n columns of row i in dst. The part before the diagonal is read from a column,
// at the price of a cache line for each number.
func (m Matrix) RowTo(dst []float64, i int) {
	for lo := 0; lo <= i; lo += stripRows {
		width := m.n - lo
		at := stripOffset(m.n, lo/stripRows) + i - lo
		for j := lo; j < min(lo+stripRows, i); j++ {
			dst[j] = m.data[at]
			at += width
		}
	}
	copy(dst[i:], m.Row(i))
}
