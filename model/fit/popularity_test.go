package fit_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
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

// TestPopularityIsChosen: users who take what is popular make popularity count, users who take what
// is not do not, and neither do too few users.
func TestPopularityIsChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(52, 2))
	b := randomBasis(rng)
	order := make([]int32, items) // by falling popularity
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return int(b.Degrees[j] - b.Degrees[i]) })
	// The first event of a user is any item. The others are of the first or of the last quarter.
	takers := func(users, from int) (all []kalman.History) {
		for range users {
			h := kalman.History{{Item: rng.Int32N(items), Weight: 1}}
			for at := range 5 {
				item := order[from+rng.IntN(items/4)]
				h = append(h, kalman.Event{Item: item, Weight: 1, Time: int64(at)})
			}
			all = append(all, h)
		}
		return all
	}
	spec := model.DefaultSpec()
	spec.TrainUsers, spec.DegreeRescale = 100, 0.5
	spec.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0.5}}, Ridge: 1,
	}
	names := make([]string, items)
	for i := range names {
		names[i] = string(rune('A' + i))
	}
	weight := func(validation []kalman.History) float64 {
		m, err := model.New(spec, b, names, fit.Histories{
			Train: slices.Values(histories(rng, 100)), Validation: validation,
		})
		check.Must(t, err)
		return m.Spec().Dynamics.Popularity
	}
	if w := weight(takers(200, 0)); w <= 0 {
		t.Errorf("weight %v for users of popular items, want more than 0", w)
	}
	if w := weight(takers(200, items*3/4)); w != 0 {
		t.Errorf("weight %v for users of rare items, want 0", w)
	}
	if w := weight(takers(20, 0)); w != 0 {
		t.Errorf("weight %v for 20 users, want 0", w)
	}
}
