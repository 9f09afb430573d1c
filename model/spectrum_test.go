package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/model/fit"
)

// The energy before the filter is that of the sum of the rows of the basis that was learned,
// whatever the model has made of it since, and the energy after GS-IMC is that times H².
func TestSpectrum(t *testing.T) {
	const n, rank = 40, 8
	r := market(1, n, 200)
	for name, spec := range kinds() {
		spec.TrainUsers = int64(r.NumUsers())
		basis, histories := trained(t, spec, r, rank)
		m := mustNewFrom(t, spec, basis, fit.Histories{
			Train: slices.Values(histories), Validation: histories[:50],
		})
		response := make([]float64, rank)
		if !spec.Dynamics.learned() {
			spec.Filter.ResponseTo(response, basis.Lambda)
		}
		rng := rand.New(rand.NewPCG(2, 3))
		for range 20 {
			h := randomHistory(rng, n, 1+rng.IntN(20))
			var want Spectrum
			for j := range rank {
				z := 0.0
				for _, e := range h {
					encoder, _ := Rescale(basis.Degrees[e.Item], spec.DegreeRescale)
					z += float64(e.Weight) * float64(encoder) * basis.U[int(e.Item)*rank+j]
				}
				want.Before = append(want.Before, z*z)
				want.After = append(want.After, response[j]*z*response[j]*z)
			}
			state, q := m.NewState(), m.NewQuery()
			for _, e := range h {
				m.Fold(state, e)
			}
			m.QueryTo(q, state, EstimatorGS)
			got := m.Spectrum(h, q, EstimatorGS)
			sameShares(t, name+" before", got.Before, want.Before)
			if spec.Dynamics.learned() {
				addUp(t, name+" after", got.After)
				continue
			}
			sameShares(t, name+" after", got.After, want.After)
		}
		start := m.NewQuery()
		m.QueryTo(start, m.NewState(), EstimatorGS)
		none := m.Spectrum(nil, start, EstimatorGS)
		if slices.Max(none.Before) != 0 || slices.Max(none.After) != 0 {
			t.Errorf("%s: a user without events has energy: %v", name, none)
		}
	}
}

// sameShares compares shares with energies.
func sameShares(t *testing.T, what string, got, energies []float64) {
	t.Helper()
	addUp(t, what, got)
	sum := 0.0
	for _, x := range energies {
		sum += x
	}
	for j, x := range energies {
		if math.Abs(got[j]-x/sum) > 1e-4 {
			t.Fatalf("%s: the share of frequency %d is %v, want %v", what, j, got[j], x/sum)
		}
	}
}

func addUp(t *testing.T, what string, shares []float64) {
	t.Helper()
	sum := 0.0
	for _, x := range shares {
		sum += x
	}
	if math.Abs(sum-1) > 1e-9 || slices.Min(shares) < 0 {
		t.Fatalf("%s: shares %v add up to %v", what, shares, sum)
	}
}
