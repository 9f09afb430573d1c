package topn

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// rotation is an orthogonal matrix Q, made so that a row with a few large numbers becomes one of
// many alike: signs of columns change by chance, then the columns go through a Walsh–Hadamard
// transform (N. Ailon, B. Chazelle, "The Fast Johnson–Lindenstrauss Transform and Approximate
// Nearest Neighbors", SIAM J. Comput. 39, 2009). A transform takes 2^m columns. If k is not a power
// of two, there are two of the largest size: of the first columns, then of the last. An empty
// rotation is the identity.
type rotation []turn

// turn is a transform of the columns first, first+1, …
type turn struct {
	first int
	signs []float64 // of each column
}

// newRotation makes the rotation of k columns, always the same one.
func newRotation(k int) rotation {
	rng := rand.New(rand.NewPCG(1, uint64(k)))
	n := 1 << (bits.Len(uint(k)) - 1)
	r := rotation{{0, make([]float64, n)}}
	if n < k {
		r = append(r, turn{k - n, make([]float64, n)})
	}
	for _, t := range r {
		for j := range t.signs {
			t.signs[j] = float64(2*rng.IntN(2) - 1)
		}
	}
	return r
}

// rotateBelow is what must be left of the largest numbers of rows, on average, for a rotation to
// pay: a query takes O(k log k) longer.
const rotateBelow = 2.0 / 3

// chooseRotation returns a rotation if it makes the numbers of a row more alike, by a sample of the
// rows, and the identity otherwise.
func (x *Index) chooseRotation(norms []float64) rotation {
	const sample = 1000
	r, v := newRotation(x.k), make([]float64, x.k)
	before, after := 0.0, 0.0
	for i := 0; i < x.n; i += 1 + x.n/sample {
		if norms[i] == 0 {
			continue
		}
		x.rowTo(v, i)
		before += largest(v) / norms[i]
		r.apply(v)
		after += largest(v) / norms[i]
	}
	if after < rotateBelow*before {
		return r
	}
	return nil
}

// apply makes Q v of v. O(k log k).
func (r rotation) apply(v []float64) {
	for _, t := range r {
		part := v[t.first : t.first+len(t.signs)]
		for j, sign := range t.signs {
			part[j] *= sign
		}
		hadamard(part)
	}
}

// hadamard multiplies v, whose length n is a power of two, with the symmetric orthogonal matrix of
// elements ±1/√n, negative where the binary numbers of row and column have an odd number of ones in
// common. It takes two of its log n steps at a time, which halves the trips to memory.
func hadamard(v []float64) {
	half := 1
	for ; 4*half <= len(v); half *= 4 {
		for first := 0; first < len(v); first += 4 * half {
			p, q := v[first:first+half], v[first+half:first+2*half]
			r, s := v[first+2*half:first+3*half], v[first+3*half:first+4*half]
			for j := range p {
				a, b, c, d := p[j]+q[j], p[j]-q[j], r[j]+s[j], r[j]-s[j]
				p[j], q[j], r[j], s[j] = a+c, b+d, a-c, b-d
			}
		}
	}
	if half < len(v) {
		for j, p := range v[:half] {
			q := v[half+j]
			v[j], v[half+j] = p+q, p-q
		}
	}
	scale := 1 / math.Sqrt(float64(len(v)))
	for j := range v {
		v[j] *= scale
	}
}
