package lapack_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/lapack"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestAsPackageMat: the functions give the bits that package mat gives.
func TestAsPackageMat(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 63, 130} {
		data := make([]float64, n*n)
		for i := range data {
			data[i] = rng.NormFloat64()
		}
		var want mat.SymDense
		want.SymOuterK(1, mat.NewDense(n, n, data))
		matrix := func() gemm.Matrix[float64] {
			return gemm.Matrix[float64]{
				Rows: n, Cols: n, Stride: n, Data: mat.DenseCopyOf(&want).RawMatrix().Data,
			}
		}
		var chol mat.Cholesky
		var u, inverted mat.TriDense
		chol.Factorize(&want)
		chol.UTo(&u)
		check.Must(t, inverted.InverseTri(&u))
		a := matrix()
		condition, ok := lapack.Cholesky(a)
		ok = ok && condition == chol.Cond() && sameUpper(u.RawTriangular().Data, a.Data, n)
		check.Same(t, true, ok, "n = %d: U", n)
		ok = lapack.InvertTriangle(a) && sameUpper(inverted.RawTriangular().Data, a.Data, n)
		check.Same(t, true, ok, "n = %d: U⁻¹", n)

		var inverse mat.SymDense
		check.Must(t, chol.InverseTo(&inverse))
		a = matrix()
		ok = lapack.Invert(a) && sameUpper(inverse.RawSymmetric().Data, a.Data, n)
		check.Same(t, true, ok, "n = %d: A⁻¹", n)

		var es mat.EigenSym
		es.Factorize(&want, true)
		var vectors mat.Dense
		es.VectorsTo(&vectors)
		a = matrix()
		values, ok := lapack.Eigen(a)
		check.Same(t, true, ok && slices.Equal(es.Values(nil), values) &&
			slices.Equal(vectors.RawMatrix().Data, a.Data), "n = %d: eigenvectors", n)
	}
}

func sameUpper(want, got []float64, n int) bool {
	for i := range n {
		if !slices.Equal(want[i*n+i:(i+1)*n], got[i*n+i:(i+1)*n]) {
			return false
		}
	}
	return true
}

// TestRefused: a matrix that is not positive definite, and one without an inverse.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		data     []float64
		inverted func(gemm.Matrix[float64]) bool
	}{
		"indefinite":        {[]float64{1, 2, 2, 1}, lapack.Invert},
		"nearly singular":   {[]float64{1, 0, 0, 1e-17}, lapack.Invert},
		"not a number":      {[]float64{1, 0, 0, math.NaN()}, lapack.Invert},
		"0 on the diagonal": {[]float64{1, 2, 0, 0}, lapack.InvertTriangle},
	} {
		a := gemm.Matrix[float64]{Rows: 2, Cols: 2, Stride: 2, Data: c.data}
		check.Same(t, false, c.inverted(a), "%s", name)
	}
}
