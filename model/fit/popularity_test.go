package fit_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// itemsOf are the items of a basis with the degree rescaling t.
func itemsOf(b *spectral.Basis, t float64) *fit.Items {
	x := &fit.Items{N: b.N, K: b.K, Basis: gemm.ToFloat32(b.U), Degrees: b.Degrees}
	for _, d := range b.Degrees {
		encoder, decoder := model.Rescale(d, t)
		x.EncoderScale = append(x.EncoderScale, encoder)
		x.DecoderScale = append(x.DecoderScale, decoder)
	}
	return x
}

// TestPopularityQuery: a basis of full rank tells the popularity of each item, with any rescaling.
func TestPopularityQuery(t *testing.T) {
	x := itemsOf(randomBasis(rand.New(rand.NewPCG(52, 1))), 0.7)
	mean, squares := 0.0, 0.0
	for _, d := range x.Degrees {
		mean += math.Log1p(float64(d)) / items
	}
	for _, d := range x.Degrees {
		squares += (math.Log1p(float64(d)) - mean) * (math.Log1p(float64(d)) - mean) / items
	}
	h := fit.PopularityQuery(x)
	want, got := make([]float64, items), make([]float64, items)
	for i, d := range x.Degrees {
		want[i] = (math.Log1p(float64(d)) - mean) / math.Sqrt(squares)
		for j, y := range h {
			got[i] += float64(x.DecoderScale[i]) * float64(x.Basis[i*items+j]) * float64(y)
		}
	}
	check.SameBy(t, cmpopts.EquateApprox(0, 1e-5), want, got, "scores of the query")
	for i := range x.Degrees {
		x.Degrees[i] = 7
	}
	if h := fit.PopularityQuery(x); h != nil {
		t.Errorf("of equally popular items: %v, want none", h)
	}
}
