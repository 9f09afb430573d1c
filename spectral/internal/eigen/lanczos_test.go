package eigen

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// orthonormalise must return Q R = W with orthonormal Q ⊥ V for blocks that are
// well conditioned, dependent, tiny beside the scale of K, or zero.
func TestOrthonormalise(t *testing.T) {
	const n, b, p = 200, 8, 16
	tests := []struct {
		name string
		edit func(w dense.Matrix[float64])
		rank int
	}{
		{"full rank", func(dense.Matrix[float64]) {}, b},
		{"two columns alike", func(w dense.Matrix[float64]) {
			for i := range n {
				dense.Row(w, i)[5] = dense.Row(w, i)[2]
			}
		}, b - 1},
		{"a zero column", func(w dense.Matrix[float64]) {
			for i := range n {
				dense.Row(w, i)[0] = 0
			}
		}, b - 1},
		{"tiny columns", func(w dense.Matrix[float64]) {
			for i := range n {
				dense.Row(w, i)[3] *= 1e-11
			}
		}, b},
		{"all zero", dense.Clear[float64], 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &lanczos[float64]{
				n: n, b: b, rng: rand.New(rand.NewPCG(1, 1)), v: dense.New[float64](n, p),
				kx: dense.New[float64](n, b), w: dense.New[float64](n, b), scale: 1,
			}
			fill := func(a dense.Matrix[float64]) {
				for i := range a.Data {
					a.Data[i] = l.rng.NormFloat64() / math.Sqrt(n)
				}
			}
			fill(l.v)
			if _, ok := choleskyQR2(l.v); !ok {
				t.Fatal("set-up")
			}
			fill(l.kx)
			l.project(p, dense.New[float64](p, b))
			l.project(p, dense.New[float64](p, b))
			dense.Copy(l.w, l.kx)
			tt.edit(l.w)
			w := dense.New[float64](n, b)
			dense.Copy(w, l.w)
			r := l.orthonormalise(p)

			dense.MulAdd(w, -1, l.w, r) // W − Q R
			if d := dense.MaxColumnNorm(w); d > 1e-12 {
				t.Errorf("‖W − QR‖ = %.1e", d)
			}
			cross, gram := dense.New[float64](p, b), dense.New[float64](b, b)
			dense.TransMul(cross, l.v, l.w)
			dense.TransMul(gram, l.w, l.w)
			rank := 0
			for j := range b {
				gram.Data[j*b+j]--
				if r.Data[j*b+j] != 0 {
					rank++
				}
			}
			if d := max(dense.MaxColumnNorm(cross), dense.MaxColumnNorm(gram)); d > 1e-10 {
				t.Errorf("orthogonality error %.1e", d)
			}
			check.Same(t, tt.rank, rank, "rank")
		})
	}
}

// diagonalOp has a known spectrum.
type diagonalOp[T gemm.Float] []float64

func (d diagonalOp[T]) Dim() int { return len(d) }

func (d diagonalOp[T]) Strip() int { return 7 }

func (d diagonalOp[T]) ApplyTo(dst, x []T, b int) {
	for i, v := range d {
		for c := range b {
			dst[i*b+c] = T(v) * x[i*b+c]
		}
	}
}

// diagonal is the search for the k leading pairs of an operator with the given spectrum.
func diagonal(d []float64, k int, lowest float64) Problem {
	return Problem{
		Single: diagonalOp[float32](d), Double: diagonalOp[float64](d),
		K: k, Tolerance: 1e-5, Lowest: lowest, Seed: 1,
	}
}

// A spectrum without gaps at the edge needs restarts when V is kept small; the
// restarted iteration must still find it.
func TestLanczosRestarts(t *testing.T) {
	d := make(diagonalOp[float64], 1000)
	for i := range d {
		d[i] = 1 - float64(i)/1000
	}
	l := newLanczos(d, randomBlock(1000, 4, 1), 60, 1)
	f := &filteredIteration[float64]{l: l, op: d, filter: chebyshev{degree: 1}, top: 1}
	check.Must(t, l.solve(10, func() (int, error) { return f.good(10, 1e-9) }, 500))
	u := l.vectors(l.s, leadingNumbers(10))
	if l.restarts == 0 {
		t.Error("no restart: the test does not test them")
	}
	kappa, residual, err := RayleighRitz(d, u)
	check.Must(t, err)
	if residual > 2e-9 {
		t.Errorf("residual %v", residual)
	}
	for j, k := range kappa {
		if math.Abs(k-d[j]) > 1e-12 {
			t.Errorf("κ_%d = %v, want %v", j, k, d[j])
		}
	}
}

// A pair that is found alone is that of all pairs, in the middle of the spectrum and at both ends.
func TestLastPairIsThatOfAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	d := make(diagonalOp[float64], 600)
	for i := range d {
		d[i] = rng.Float64()
	}
	d[0] = 1e4 // as a filter lifts the first ones
	l := newLanczos(d, randomBlock(len(d), 8, 1), 200, 1)
	l.fillTo(120)
	theta, _, err := l.ritz()
	check.Must(t, err)
	residuals := l.residuals(l.s)
	for k := 1; k <= l.p; k++ {
		value, s := l.pair(k)
		residual := l.residuals(s)[0]
		if math.Abs(value-theta[k-1]) > 1e-8 ||
			math.Abs(residual-residuals[k-1]) > 1e-8+1e-4*residuals[k-1] {
			t.Errorf("pair %d: %v with residual %v, want %v with %v", k, value, residual,
				theta[k-1], residuals[k-1])
		}
	}
	f := &filteredIteration[float64]{l: l, op: d, filter: chebyshev{degree: 1}, top: 1}
	for _, k := range []int{1, 60} {
		l.theta = nil
		if far := f.far(k, 0.05); far > 1 != (k == 60) {
			t.Errorf("the first %d pairs are far from good: %v", k, far)
		}
	}
}

// The filter's unwanted interval stays below 1/T_d, and the order above it is kept.
func TestChebyshevFilter(t *testing.T) {
	d := make(diagonalOp[float64], 500)
	for i := range d {
		d[i] = 1 - float64(i)/500
	}
	c := &chebyshevOp[float64]{chebyshev: newChebyshev(0, 0.8, 1, 1e8, 10), Operator: d}
	if c.degree < 2 {
		t.Fatalf("degree %d", c.degree)
	}
	x, y := make([]float64, len(d)), make([]float64, len(d))
	for i := range x {
		x[i] = 1
	}
	c.ApplyTo(y, x, 1)
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
		if d[i] > 0.81 && math.Abs(c.origin(y[i])-d[i]) > 1e-9 {
			t.Errorf("origin of p(%v) is %v", d[i], c.origin(y[i]))
		}
	}
}

// What the filter says of a residual must hold for any vector, in particular for the worst mixtures
// of two eigenvectors.
func TestChebyshevBound(t *testing.T) {
	const lo, cut, top = 0.05, 0.6, 1.3
	rng := rand.New(rand.NewPCG(4, 5))
	for range 20000 {
		c := newChebyshev(lo, cut, top, math.Pow(10, 1+7*rng.Float64()), 10)
		p := func(x float64) float64 {
			y := (x - c.e) / c.h
			if y <= 1 {
				return c.norm * math.Cos(float64(c.degree)*math.Acos(y))
			}
			return c.norm * math.Cosh(float64(c.degree)*math.Acosh(y))
		}
		kappa := cut + 0.01 + (top-cut-0.01)*rng.Float64()
		other := lo + (top-lo)*rng.Float64()
		const tol = 1e-4
		bound := c.bound(p(kappa), tol)
		if c.degree < 2 || math.Abs(p(other)-p(kappa)) < 1e-12 {
			continue
		}
		// of the other one, so that the residual with p(K) is the bound
		mixed := bound / math.Abs(p(other)-p(kappa))
		if got := mixed * math.Abs(other-kappa); got > tol*(1+1e-6) {
			t.Fatalf("%+v, κ = %v with a part of κ = %v: residual %v, promised %v",
				c, kappa, other, got, tol)
		}
	}
}

// In float32, and with a first eigenvalue far above the others: it is taken out, so that the others
// are found.
func TestKrylovInSinglePrecision(t *testing.T) {
	soak.Native(t)
	const n, k = 2500, 90
	d := make([]float64, n)
	for i := range d {
		d[i] = 0.1 * math.Pow(float64(i+1), -0.35)
	}
	d[0] = 1
	p := diagonal(d, k, 0)
	p.Double = Rounded{p.Single}
	b := check.Get(Krylov(p))(t)
	if b.Report.Residual > 1e-5 {
		t.Errorf("residual %v", b.Report.Residual)
	}
	for j, kappa := range b.Kappa {
		if math.Abs(kappa-d[j]) > 1e-6 {
			t.Errorf("κ_%d = %v, want %v", j, kappa, d[j])
		}
	}
}
