package spectral_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/spectral"
)

func TestPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	const n, k, few = 7, 5, 3
	b := &spectral.Basis{
		N: n, K: k, U: make([]float64, n*k), Kappa: []float64{5, 4, 3, 2, 1},
		Lambda: []float64{0, 1, 2, 3, 4}, Degrees: []int64{1, 2, 3, 4, 5, 6, 7},
		Report: spectral.Report{KappaMax: 5, KappaMin: 1},
	}
	for i := range b.U {
		b.U[i] = rng.NormFloat64()
	}
	want := *b
	want.K, want.U, want.Kappa, want.Lambda = few, nil, []float64{5, 4, 3}, []float64{0, 1, 2}
	want.Report.KappaMin = 3
	for i := range n {
		want.U = append(want.U, b.U[i*k:i*k+few]...)
	}
	check.Same(t, &want, b.Prefix(few), "prefix")
	check.Same(t, b, b.Prefix(k), "prefix of all")
}
