package dynamics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

// tasteData draws users of fixed tastes θ ~ N(0, Σ_θ) with events e = θ + ε, ε ~ N(0, Σ_ν), every
// event on an item of its own.
func tasteData(
	rng *rand.Rand, users, length int, sigmaTheta, sigmaNu []float32,
) (histories []kalman.History, encoder Encoder) {
	k := len(sigmaTheta)
	var items [][]float32
	for range users {
		var h kalman.History
		taste := make([]float64, k)
		for j := range taste {
			taste[j] = math.Sqrt(float64(sigmaTheta[j])) * rng.NormFloat64()
		}
		for t := range length {
			e := make([]float32, k)
			for j := range e {
				e[j] = float32(taste[j] + math.Sqrt(float64(sigmaNu[j]))*rng.NormFloat64())
			}
			h = append(h, kalman.Event{Item: int32(len(items)), Weight: 1, Time: int64(t)})
			items = append(items, e)
		}
		histories = append(histories, h)
	}
	return histories, func(i int32) ([]float32, float32) { return items[i], 1 }
}

// TestLearnTaste knows what is left of a taste: by a filter of the right variances Σ_θ/(1 + N
// Σ_θ/Σ_ν), hence no floor; by one that learns nothing all of it, hence a floor of 1.
func TestLearnTaste(t *testing.T) {
	const k = 4
	sigmaTheta, sigmaNu := []float32{1, 0.5, 0.2, 2}, []float32{4, 4, 3, 3}
	rng := rand.New(rand.NewPCG(1, 1))
	histories, encoder := tasteData(rng, 1500, 16, sigmaTheta, sigmaNu)
	nothing := make([]float32, k)
	rows := func(int32) []float32 { return nothing }
	tiny := slices.Repeat([]float32{1e-9}, k)
	for _, tt := range []struct {
		name  string
		p0    []float32
		floor float64
	}{{"right filter", sigmaTheta, 0}, {"learns nothing", tiny, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			d := &kalman.Dynamics{
				Bands: []kalman.Band{{}}, Mean: nothing, P0: tt.p0,
				SigmaEta: tiny, SigmaNu: sigmaNu,
			}
			got := check.Get(LearnTaste(d, rows, encoder, histories))(t)
			if math.Abs(got.Floor-tt.floor) > 0.15 {
				t.Errorf("floor %v, want %v", got.Floor, tt.floor)
			}
			for j, want := range sigmaTheta {
				if math.Abs(float64(got.SigmaTheta[j]-want)) > 0.3*float64(want) {
					t.Errorf("Σ_θ[%d] = %v, want %v", j, got.SigmaTheta[j], want)
				}
			}
			d.SigmaTheta, d.ThetaFloor = got.SigmaTheta, got.Floor
			fresh, encoder := tasteData(rng, 1500, 16, sigmaTheta, sigmaNu)
			evidence := check.Get(TasteEvidence(d, rows, encoder, fresh))(t)
			if len(evidence) != 5 { // N = 0, 1, 2–3, 4–7, 8–14
				t.Errorf("%d ranges of evidence, want 5", len(evidence))
			}
			for _, e := range evidence {
				if math.Abs(e.Product/e.Variance-1) > 0.2 {
					t.Errorf("%d pairs after %.1f events: products %v, expected %v", e.Pairs,
						e.Events, e.Product, e.Variance)
				}
			}
		})
	}
}

// TestLearnTasteWithoutPairs: nothing can be learned, and nothing is claimed.
func TestLearnTasteWithoutPairs(t *testing.T) {
	one := []float32{1}
	d := &kalman.Dynamics{
		Bands: []kalman.Band{{}}, Mean: []float32{0}, P0: one, SigmaEta: one, SigmaNu: one,
	}
	rows := func(int32) []float32 { return one }
	encoder := func(int32) ([]float32, float32) { return one, 1 }
	got, err := LearnTaste(d, rows, encoder,
		[]kalman.History{{{Weight: 1}}, {{Weight: -1}, {Weight: 1}}})
	if err != nil || got.SigmaTheta[0] != 0 {
		t.Errorf("LearnTaste = %v, %v; want Σ_θ = 0", got, err)
	}
}
