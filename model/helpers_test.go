package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// randomBasis draws an orthonormal basis, eigenvalues from 1 downwards and degrees from 0 to 50.
func randomBasis(rng *rand.Rand, n, k int) *spectral.Basis {
	a := mat.NewDense(n, k, nil)
	for i := range n {
		for j := range k {
			a.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(a)
	var q mat.Dense
	qr.QTo(&q)
	b := &spectral.Basis{
		N: n, K: k,
		U:     mat.DenseCopyOf(q.Slice(0, n, 0, k)).RawMatrix().Data,
		Kappa: make([]float64, k), Lambda: make([]float64, k), Degrees: make([]int64, n),
		Scale: make([]float64, n),
	}
	for j := range k {
		b.Kappa[j] = 1 - float64(j)/float64(k)
		b.Lambda[j] = 1 - b.Kappa[j]
	}
	for i := range n {
		b.Degrees[i] = int64(rng.IntN(51))
		b.Scale[i] = 1 / math.Sqrt(float64(max(b.Degrees[i], 1)))
	}
	return b
}

// itemNames returns n ids in bytewise order.
func itemNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("item-%07d", i)
	}
	return names
}

func testSpec() Spec {
	s := DefaultSpec()
	s.TrainUsers = 100
	s.Provenance = map[string]string{"command": "train --rank 5", "data": "sha256:00ff"}
	return s
}

func randomHistory(rng *rand.Rand, n, length int) History {
	h := make(History, length)
	for i := range h {
		h[i] = Event{Item: int32(rng.IntN(n)), Weight: 1 + rng.Float32(), Time: int64(i) * 60}
	}
	return h
}

func randomHistories(rng *rand.Rand, n, users int) []History {
	hs := make([]History, users)
	for u := range hs {
		hs[u] = randomHistory(rng, n, 2+rng.IntN(8))
	}
	return hs
}

func mustNew(tb testing.TB, spec Spec, b *spectral.Basis, validation []History) *Model {
	tb.Helper()
	return mustNewFrom(tb, spec, b, fit.Histories{Validation: validation})
}

func mustNewFrom(tb testing.TB, spec Spec, b *spectral.Basis, h fit.Histories) *Model {
	tb.Helper()
	m := check.Get(New(spec, b, itemNames(b.N), h))(tb)
	return m
}

// dynamicsOf returns the learned dynamics of m, which must have them.
func dynamicsOf(m *Model) *kalman.Dynamics { return &m.transition.(*learnedDynamics).Dynamics }

// filterOf returns the paper's filter of m, which must have it.
func filterOf(m *Model) *kalman.Filter {
	if f, rotated := m.transition.(*rotatedFilter); rotated {
		return &f.Filter
	}
	return &m.transition.(*diagonalFilter).Filter
}

// predictedOf returns coordinate j of the paper's prediction of item i, H u_i or QᵀH u_i.
func predictedOf(m *Model, i int32, j int) float64 {
	t, at := m.at(i)
	return m.transition.(interface {
		predicted(t *table, i, j int) float64
	}).predicted(t, at, j)
}

// near compares vectors: |got − want| ≤ tol·max|want|.
func near(t *testing.T, what string, got []float32, want []float64, tol float64) {
	t.Helper()
	size := 0.0
	for _, w := range want {
		size = max(size, math.Abs(w))
	}
	check.MustSame(t, len(want), len(got), "%s has length", what)
	for j := range want {
		if !(math.Abs(float64(got[j])-want[j]) <= tol*size) {
			t.Fatalf("%s[%d] = %v, want %v (largest %v)", what, j, got[j], want[j], size)
		}
	}
}
