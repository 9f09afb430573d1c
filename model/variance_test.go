package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

// scoreVariance is what DeviationsTo takes the root of, in float64.
func scoreVariance(m *Model, i int32, p []float32) float64 {
	sum := 0.0
	for j, x := range row(m.basis, int(i), m.k) {
		v := float64(m.decoderScale[i]) * float64(x)
		sum += v * v * float64(p[j])
	}
	return sum
}

// TestVariance: the variance of every score is the quadratic form, shrinks from event to event, and
// grows with time.
func TestVariance(t *testing.T) {
	const n, k = 40, 9
	rng := rand.New(rand.NewPCG(7, 8))
	m := newLearned(t, rng, n, k, func(s *Spec) { learnedBands(s, true) })
	dynamicsOf(m).Drift = 1e-3
	dynamicsOf(m).ThetaFloor = 0.2
	for j := range k {
		dynamicsOf(m).SigmaTheta[j] = 0.1 + rng.Float32()
		dynamicsOf(m).SigmaEta[j] = 1e-5
		dynamicsOf(m).SigmaNu[j] = 0.5
	}
	m.findVariance()
	if !m.TellsUncertainty() {
		t.Error("events reduce the variance, but TellsUncertainty is false")
	}
	s, p := m.NewState(), make([]float32, k)
	m.VarianceTo(p, s, 1<<40)
	check.Same(t, 1.0, m.Uncertainty(p), "uncertainty of a new user")
	uncertainty := 1.0
	for e := range 30 {
		now := int64(e) * 60
		m.Fold(s, Event{Item: int32(rng.IntN(n)), Weight: 0.5 + rng.Float32(), Time: now})
		m.VarianceTo(p, s, now)
		u := m.Uncertainty(p)
		if u >= uncertainty {
			t.Errorf("uncertainty after event %d is %v, before it was %v", e+1, u, uncertainty)
		}
		uncertainty = u
		variance := func(i int32) float64 { return scoreVariance(m, i, p) }
		items := m.TopN(nil, &Query{Spectrum: p}, n, nil)
		deviations := make([]float32, len(items))
		m.DeviationsTo(deviations, items, p)
		for i, s := range items {
			got, want := float64(deviations[i]), math.Sqrt(variance(s.Item))
			if math.Abs(got-want) > 1e-6*want {
				t.Fatalf("deviation of item %d is %v, want %v", s.Item, got, want)
			}
		}
		recent := variance(3)
		m.VarianceTo(p, s, now+86400)
		if later := variance(3); later <= recent {
			t.Errorf("a day after event %d the variance is %v, before it was %v",
				e+1, later, recent)
		}
		m.VarianceTo(p, s, now-500)
		check.Same(t, recent, variance(3), "the variance for a time before the newest event")
	}
	m.VarianceTo(p, s, math.MaxInt64)
	check.Same(t, 1.0, m.Uncertainty(p), "uncertainty after all time")
}

func TestHasVariance(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, tt := range []struct {
		name string
		edit func(*Spec)
		want bool
	}{
		{"paper", func(*Spec) {}, false},
		{"bands alone", func(s *Spec) { learnedBands(s, false) }, false},
		{"deviation", func(s *Spec) { learnedBands(s, true) }, true},
	} {
		m := newLearned(t, rng, 20, 4, tt.edit)
		check.Same(t, tt.want, m.HasVariance(), "%s: HasVariance", tt.name)
		if tt.want {
			continue
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: VarianceTo did not panic", tt.name)
				}
			}()
			m.VarianceTo(make([]float32, 4), &kalman.State{}, 0)
		}()
	}
}

// TestTellsUncertainty: a model in which no evidence removes any variance tells nothing.
func TestTellsUncertainty(t *testing.T) {
	const n, k = 40, 5
	rng := rand.New(rand.NewPCG(9, 10))
	for name, c := range map[string]struct {
		deviation bool
		theta     float32
		floor     float64
		want      bool
	}{
		"evidence counts":   {true, 0.5, 0.95, true},
		"floor of 1":        {true, 0.5, 1, false},
		"floor near 1":      {true, 0.5, 0.9995, false},
		"tastes are alike":  {true, 0, 0, false},
		"without deviation": {false, 0.5, 0, false},
	} {
		m := newLearned(t, rng, n, k, func(s *Spec) { learnedBands(s, c.deviation) })
		dynamicsOf(m).ThetaFloor = c.floor
		for j := range dynamicsOf(m).SigmaTheta {
			dynamicsOf(m).SigmaTheta[j] = c.theta
		}
		m.findVariance()
		check.Same(t, c.want, m.TellsUncertainty(), "%s: TellsUncertainty", name)
	}
	if mustNew(t, testSpec(), randomBasis(rng, n, k), nil).TellsUncertainty() {
		t.Error("a model of the paper tells uncertainty")
	}
}
