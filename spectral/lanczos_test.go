package spectral

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
)

// orthonormalise must return Q R = W with orthonormal Q ⊥ V for blocks that are
// well conditioned, dependent, tiny beside the scale of K, or zero.
func TestOrthonormalise(t *testing.T) {
	const n, b, p = 200, 8, 16
	tests := []struct {
		name string
		edit func(w blas64.General)
		rank int
	}{
		{"full rank", func(blas64.General) {}, b},
		{"two columns alike", func(w blas64.General) {
			for i := range n {
				row(w, i)[5] = row(w, i)[2]
			}
		}, b - 1},
		{"a zero column", func(w blas64.General) {
			for i := range n {
				row(w, i)[0] = 0
			}
		}, b - 1},
		{"tiny columns", func(w blas64.General) {
			for i := range n {
				row(w, i)[3] *= 1e-11
			}
		}, b},
		{"all zero", clearGeneral, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &lanczos{n: n, b: b, rng: rand.New(rand.NewPCG(1, 1)), v: newGeneral(n, p), w: newGeneral(n, b), scale: 1}
			fill := func(a blas64.General) {
				for i := range a.Data {
					a.Data[i] = l.rng.NormFloat64() / math.Sqrt(n)
				}
			}
			fill(l.v)
			if _, ok := choleskyQR2(l.v); !ok {
				t.Fatal("set-up")
			}
			fill(l.w)
			l.project(0, p, newGeneral(p, b))
			l.project(0, p, newGeneral(p, b))
			tt.edit(l.w)
			w := newGeneral(n, b)
			copyGeneral(w, l.w)
			r := l.orthonormalise(p)

			mulAdd(w, -1, l.w, r) // W − Q R
			if d := maxColumnNorm(w); d > 1e-12 {
				t.Errorf("‖W − QR‖ = %.1e", d)
			}
			cross, gram := newGeneral(p, b), newGeneral(b, b)
			transMul(cross, l.v, l.w)
			transMul(gram, l.w, l.w)
			rank := 0
			for j := range b {
				gram.Data[j*b+j]--
				if r.Data[j*b+j] != 0 {
					rank++
				}
			}
			if d := max(maxColumnNorm(cross), maxColumnNorm(gram)); d > 1e-10 {
				t.Errorf("orthogonality error %.1e", d)
			}
			if rank != tt.rank {
				t.Errorf("rank %d, want %d", rank, tt.rank)
			}
		})
	}
}

// diagonalOp has a known spectrum.
type diagonalOp []float64

func (d diagonalOp) dim() int { return len(d) }

func (d diagonalOp) applyTo(dst, x []float64, b int) {
	for i, v := range d {
		for c := range b {
			dst[i*b+c] = v * x[i*b+c]
		}
	}
}

// A spectrum without gaps at the edge needs restarts when V is kept small; the
// restarted iteration must still find it.
func TestLanczosRestarts(t *testing.T) {
	d := make(diagonalOp, 1000)
	for i := range d {
		d[i] = 1 - float64(i)/1000
	}
	l := newLanczos(d, 4, 60, 1)
	u, err := l.solve(10, 1e-9, 500)
	if err != nil {
		t.Fatal(err)
	}
	if l.restarts == 0 {
		t.Error("no restart: the test does not test them")
	}
	kappa, err := rayleighRitz(d, u)
	if err != nil {
		t.Fatal(err)
	}
	for j, k := range kappa {
		if math.Abs(k-d[j]) > 1e-12 {
			t.Errorf("κ_%d = %v, want %v", j, k, d[j])
		}
	}
}

// The filter's unwanted interval stays below 1/T_d, and the order above it is kept.
func TestChebyshevFilter(t *testing.T) {
	d := make(diagonalOp, 500)
	for i := range d {
		d[i] = 1 - float64(i)/500
	}
	c := newChebyshev(d, 0, 0.8, 1)
	x, y := make([]float64, len(d)), make([]float64, len(d))
	for i := range x {
		x[i] = 1
	}
	c.applyTo(y, x, 1)
	if math.Abs(y[0]-1) > 1e-9 {
		t.Errorf("p(κ_1) = %v, want 1", y[0])
	}
	for i := range y {
		if d[i] <= 0.8 && math.Abs(y[i]) > c.norm*(1+1e-9) {
			t.Errorf("|p(%v)| = %v in the unwanted interval, bound %v", d[i], y[i], c.norm)
		}
		if d[i] > 0.8 && y[i] >= y[max(0, i-1)] && i > 0 {
			t.Errorf("p is not monotone at %v", d[i])
		}
	}
}
