package topn

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// rotation is an orthogonal matrix Q, made so that a row with a few large numbers becomes one of
// many alike: the signs of the columns change by chance, then each piece of them goes through a
// Walsh–Hadamard transform (N. Ailon, B. Chazelle, "The Fast Johnson–Lindenstrauss Transform and
// Approximate Nearest Neighbors", SIAM J. Comput. 39, 2009). The pieces are the powers of two whose
// sum is k. A rotation without signs is the identity.
type rotation struct{ signs []float64 }

// rotateBelow is what must be left of the largest numbers of rows, on average, for a rotation to
// pay: a query takes O(k log k) longer.
const rotateBelow = 2.0 / 3

// chooseRotation returns a rotation if it makes the numbers of a row more alike, by a sample of the
// rows, and the identity otherwise.
func (x *Index) chooseRotation(norms []float64) rotation {
	const sample = 1000
	rng := rand.New(rand.NewPCG(1, uint64(x.k)))
	r := rotation{make([]float64, x.k)}
	for j := range r.signs {
		r.signs[j] = float64(2*rng.IntN(2) - 1)
	}
	before, after, v := 0.0, 0.0, make([]float64, x.k)
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
	return rotation{}
}

// apply makes Q v of v. O(k log k).
func (r rotation) apply(v []float64) {
	for j, sign := range r.signs {
		v[j] *= sign
	}
	for left := v[:len(r.signs)]; len(left) > 0; {
		n := 1 << (bits.Len(uint(len(left))) - 1)
		hadamard(left[:n])
		left = left[n:]
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
