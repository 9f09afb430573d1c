package eigen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// Against gonum's solver, and by the equations themselves.
func TestSymmetricEigen(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	random := func(int, int) float64 { return rng.NormFloat64() }
	for name, entry := range map[string]func(i, j int) float64{
		"random": random,
		"large":  func(i, j int) float64 { return 1e200 * random(i, j) },
		"tiny":   func(i, j int) float64 { return 1e-200 * random(i, j) },
		"graded": func(i, j int) float64 {
			return random(i, j) * math.Pow(10, -float64(i+j)/6)
		},
		"zero": func(int, int) float64 { return 0 },
		"ones": func(int, int) float64 { return 1 },
		"diagonal": func(i, j int) float64 {
			return float64((i*7)%5) * float64(max(0, 1-max(i-j, j-i)))
		},
		"two blocks": func(i, j int) float64 { return random(i, j) * float64((i+j+1)%2) },
		"path":       func(i, j int) float64 { return float64(max(0, 2-max(i-j, j-i)) % 2) },
	} {
		for _, n := range []int{0, 1, 2, 3, 31, 32, 33, 34, 65, 130} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				a := dense.New[float64](n, n)
				for i := range n {
					for j := i; j < n; j++ {
						a.Data[j*n+i] = math.NaN() // not to be read
						a.Data[i*n+j] = entry(i, j)
					}
				}
				checkEigen(t, a)
			})
		}
	}
}

func checkEigen(t *testing.T, a dense.Matrix[float64]) {
	t.Helper()
	n := a.Rows
	values, s, err := Symmetric(a)
	check.Must(t, err)
	if n == 0 {
		return
	}
	var want mat.EigenSym
	sym := mat.NewSymDense(n, nil) // divided by scale: the oracle does not bear tiny numbers
	full, scale := dense.New[float64](n, n), 0.0
	for i := range n {
		for _, v := range dense.Row(a, i)[i:] {
			scale = max(scale, math.Abs(v))
		}
	}
	scale = max(scale, math.SmallestNonzeroFloat64)
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, a.Data[i*n+j]/scale)
			full.Data[i*n+j], full.Data[j*n+i] = a.Data[i*n+j], a.Data[i*n+j]
		}
	}
	if !want.Factorize(sym, false) {
		t.Fatal("the oracle failed")
	}
	ascending := want.Values(nil)
	norm := max(math.Abs(ascending[0]), math.Abs(ascending[n-1])) * scale
	as := dense.New[float64](n, n)
	dense.MulAdd(as, 1, full, s)
	gram := dense.Gram(s)
	for j := range n {
		if got, want := values[j], ascending[n-1-j]*scale; !(math.Abs(got-want) <= 1e-13*norm) {
			t.Errorf("eigenvalue %d is %v, want %v", j, got, want)
		}
		for i := range n {
			residual := as.Data[i*n+j] - values[j]*s.Data[i*n+j]
			if !(math.Abs(residual) <= 1e-13*norm) {
				t.Fatalf("eigenvector %d misses by %g in row %d, norm %g", j, residual, i, norm)
			}
			identity := 0.0
			if i == j {
				identity = 1
			}
			if !(math.Abs(gram.Data[i*n+j]-identity) <= 1e-13) {
				t.Fatalf("SᵀS[%d, %d] = %v", i, j, gram.Data[i*n+j])
			}
		}
	}
}

func TestSymmetricEigenRefusesWhatIsNotFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		a := dense.Identity(4)
		a.Data[1*4+3] = bad
		if _, _, err := Symmetric(a); err == nil {
			t.Errorf("an entry of %v: no error", bad)
		}
	}
}

// A matrix of low rank has a block of rounding noise beside large entries: that
// noise is zero, however large the matrix is.
func TestSymmetricEigenOfLowRank(t *testing.T) {
	soak.Native(t)
	const n, rank = 700, 60
	rng := rand.New(rand.NewPCG(23, 24))
	a, f := dense.New[float64](n, n), dense.New[float64](n, rank)
	for i := range f.Data { // no signs: the largest eigenvalue is far above the entries
		f.Data[i] = rng.Float64()
	}
	gemm.MulAdd(a, 1, gemm.Plain, f, gemm.Transposed, f)
	values, s, err := Symmetric(a)
	check.Must(t, err)
	if noise := math.Abs(values[rank]); noise > 1e-13*values[0] {
		t.Errorf("eigenvalue %d is %v beside %v, want 0", rank, noise, values[0])
	}
	as := dense.New[float64](n, n)
	dense.MulAdd(as, 1, a, s)
	for i := range n {
		for j, v := range values {
			if math.Abs(as.Data[i*n+j]-v*s.Data[i*n+j]) > 1e-12*values[0] {
				t.Fatalf("A s_%d differs from λ s_%d in row %d", j, j, i)
			}
		}
	}
}
