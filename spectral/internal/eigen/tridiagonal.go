package eigen

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
)

// tridiagonal is a symmetric tridiagonal matrix T with the diagonal d and the
// off-diagonal e.
type tridiagonal struct {
	d, e []float64
	zero float64 // bound of an entry of e that counts as 0: rounding of T's largest entries
}

const (
	// maxSweeps bounds the QL sweeps for one eigenvalue; 2 is usual.
	maxSweeps = 60
	// sweepBatch is the number of rotations that are collected before they are
	// applied. They stay in the cache while they are applied to all strips of Zᵀ.
	sweepBatch = 1 << 16
)

// rotations are sweeps of the QL iteration, to be applied to the rows of Zᵀ.
type rotations struct {
	c, s   []float64 // of all sweeps, one after the other
	sweeps []sweep
}

// A sweep rotates the rows first … first+count.
type sweep struct{ first, count int }

// diagonalise leaves the eigenvalues in d, in no particular order, and returns
// the eigenvectors as rows of Zᵀ, which is stored in strips: strip q holds the
// columns from q·StripWidth on. It returns ok = false if the iteration does not
// converge, which takes values that are not finite.
//
// This is the implicit QL iteration with Wilkinson's shift (A. Dubrulle, R.
// Martin, J. Wilkinson, "The Implicit QL Algorithm", Numer. Math. 12, 1968).
// Rotations are collected and applied to all of Zᵀ later, since neither d nor e
// depends on Zᵀ. Applying them is nearly all of the work.
func (t tridiagonal) diagonalise() (strips [][]float64, ok bool) {
	t.zero = 0x1p-52 * (maxAbs(t.d) + maxAbs(t.e))
	strips = identityStrips(len(t.d))
	var pending rotations
	for l := range t.d {
		for count := 0; ; count++ {
			m := t.split(l)
			if m == l {
				break
			}
			if count == maxSweeps {
				return nil, false
			}
			t.sweep(l, m, &pending)
			if len(pending.c) >= sweepBatch {
				pending.apply(strips)
			}
		}
	}
	pending.apply(strips)
	return strips, true
}

func maxAbs(v []float64) float64 {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x))
	}
	return largest
}

// split returns the first m ≥ l after which T falls apart up to rounding.
func (t tridiagonal) split(l int) int {
	for m := l; m < len(t.e); m++ {
		if math.Abs(t.e[m]) <= t.zero {
			t.e[m] = 0
			return m
		}
	}
	return len(t.d) - 1
}

// sweep does one QL step on the rows l … m of T and appends its rotations.
func (t tridiagonal) sweep(l, m int, to *rotations) {
	d, e := t.d, t.e
	at := len(to.c)
	to.c = append(to.c, make([]float64, m-l)...)
	to.s = append(to.s, make([]float64, m-l)...)
	g := (d[l+1] - d[l]) / (2 * e[l])
	g = d[m] - d[l] + e[l]/(g+math.Copysign(math.Hypot(g, 1), g))
	s, c, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := s*e[i], c*e[i]
		r := math.Sqrt(f*f + g*g)
		if i+1 < m {
			e[i+1] = r
		}
		if r == 0 { // T falls apart here
			d[i+1] -= p
			kept := i + 1 - l
			to.c, to.s = append(to.c[:at], to.c[at+kept:]...), append(to.s[:at], to.s[at+kept:]...)
			to.add(i+1, m-i-1)
			return
		}
		s, c = f/r, g/r
		g = d[i+1] - p
		r = (d[i]-g)*s + 2*c*b
		p = s * r
		d[i+1] = g + p
		g = c*r - b
		to.c[at+i-l], to.s[at+i-l] = c, s
	}
	d[l] -= p
	e[l] = g
	to.add(l, m-l)
}

func (r *rotations) add(first, count int) {
	if count > 0 {
		r.sweeps = append(r.sweeps, sweep{first, count})
	}
}

// apply rotates all strips and forgets the rotations.
func (r *rotations) apply(strips [][]float64) {
	parallel.Strips(len(strips), 1, func(q, _ int) {
		at := 0
		for _, w := range r.sweeps {
			rows := strips[q][w.first*gemm.StripWidth : (w.first+w.count+1)*gemm.StripWidth]
			gemm.RotateRows(rows, r.c[at:at+w.count], r.s[at:at+w.count])
			at += w.count
		}
	})
	r.c, r.s, r.sweeps = r.c[:0], r.s[:0], r.sweeps[:0]
}

func identityStrips(n int) [][]float64 {
	const width = gemm.StripWidth
	strips := make([][]float64, (n+width-1)/width)
	for q := range strips {
		strips[q] = make([]float64, n*width)
		for i := q * width; i < min(n, (q+1)*width); i++ {
			strips[q][i*width+i%width] = 1
		}
	}
	return strips
}
