package evaluate

import "github.com/gsimc/gsimc/internal/gemm"

// symmetricStrip is the height of a strip of a [symmetric] matrix. A higher strip stores more
// numbers below the diagonal, a lower one makes products slower.
const symmetricStrip = 512

// symmetric is the upper triangle of an n×n matrix, in about n²/2 numbers. It is cut into strips of
// symmetricStrip rows. A strip that begins with row lo is a row-major matrix of the columns lo to
// n, so that it can be an operand of package gemm. Its numbers below the diagonal are undefined.
type symmetric struct {
	n    int
	data []float64
}

func newSymmetric(n int) symmetric { return symmetric{n, make([]float64, packedLen(n))} }

// packedLen returns the number of numbers that an n×n matrix takes.
func packedLen(n int) int {
	full, rest := n/symmetricStrip, n%symmetricStrip
	return stripOffset(n, full) + rest*rest
}

// stripOffset returns the place in the data of an n×n matrix where the s-th strip begins, if all
// strips before it are full.
func stripOffset(n, s int) int {
	return symmetricStrip * (s*n - symmetricStrip*(s*(s-1)/2))
}

// strip returns the strip that begins with row lo.
func (m symmetric) strip(lo int) gemm.Matrix[float64] {
	rows, cols := min(symmetricStrip, m.n-lo), m.n-lo
	first := stripOffset(m.n, lo/symmetricStrip)
	return gemm.Matrix[float64]{
		Rows: rows, Cols: cols, Data: m.data[first : first+rows*cols], Stride: cols,
	}
}

// row returns the columns i to n of row i. The slice belongs to m.
func (m symmetric) row(i int) []float64 {
	lo := i - i%symmetricStrip
	at := stripOffset(m.n, lo/symmetricStrip) + (i-lo)*(m.n-lo) + i - lo
	return m.data[at : at+m.n-i]
}

// rowTo stores all columns of row i in dst. The part before the diagonal is read from a column, at
// the price of a cache line for each number.
func (m symmetric) rowTo(dst []float64, i int) {
	for lo := 0; lo <= i; lo += symmetricStrip {
		width := m.n - lo
		at := stripOffset(m.n, lo/symmetricStrip) + i - lo
		for j := lo; j < min(lo+symmetricStrip, i); j++ {
			dst[j] = m.data[at]
			at += width
		}
	}
	copy(dst[i:], m.row(i))
}
