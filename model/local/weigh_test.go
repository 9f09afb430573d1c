package local

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWeigher: a weigher finds what a local term is worth, and nothing where it is worth nothing.
func TestWeigher(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(5, 4))
	counts, positions := planted(rng, n, true)
	without := NewWeigher(n, nil, Spec{}, positions).Gains()
	if got := without.Mean(); got > 0.1 {
		t.Errorf("without a local term the mean gain of a chain is %.3f, want next to nothing", got)
	}
	weigher := NewWeigher(n, counts, Default(), positions)
	with := weigher.Gains()
	if got := with.Mean(); got < 0.9 {
		t.Errorf("with a local term the mean gain of a chain is %.3f, want nearly 1", got)
	}
	if !with.Beats(without) || without.Beats(with) {
		t.Error("the gains with a local term do not beat those without one")
	}
	for w, weight := range weights {
		scaled := []float64{weight * weigher.positions.unit(weigher.terms)}
		if got := weigher.positions.gains(weigher.terms, scaled)[0].Mean(); got > with.Mean() {
			t.Errorf("weight %d is better: %.4f, not %.4f", w, got, with.Mean())
		}
	}
}

func TestGains(t *testing.T) {
	a, b := Gains{1, 0.5, 0, 0.5}, Gains{0.5, 0.5, 0, 0}
	mean, stderr := a.Lead(b)
	if mean != 0.25 || math.Abs(stderr-0.125) > 1e-12 {
		t.Errorf("lead %v ± %v, want 0.25 ± 0.125", mean, stderr)
	}
	if !a.Beats(b) || b.Beats(a) || a.Beats(a) {
		t.Error("a lead of two standard errors must count, and none must not")
	}
	if got := (Gains{}).Mean(); got != 0 {
		t.Errorf("mean of nothing: %v, want 0", got)
	}
}
