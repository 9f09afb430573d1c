package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/kalman/dynamics"
)

// TestGains compares the gains with the matrices W_b, in float64.
func TestGains(t *testing.T) {
	const n, k = 40, 5
	for _, kind := range explained {
		t.Run(kind.name, func(t *testing.T) {
			m := newLearned(t, rand.New(rand.NewPCG(1, 2)), n, k, kind.edit)
			g := m.Gains()
			if !m.spec.Dynamics.learned() {
				if g != nil {
					t.Errorf("gains %v without learned dynamics", g)
				}
				return
			}
			bands := len(m.spec.Dynamics.Bands)
			if len(g.Same) != bands*k || len(g.All) != bands*k {
				t.Fatalf("%d and %d gains", len(g.Same), len(g.All))
			}
			for band := range bands {
				checkGains(t, m, g, band)
			}
		})
	}
}

// checkGains makes sure that W_b is what turns encoder rows into predictions, and sums it up.
func checkGains(t *testing.T, m *Model, g *dynamics.Gains, band int) {
	t.Helper()
	k := m.k
	w := m.transition.(*learnedDynamics).readout[band*k*k:][:k*k]
	for i := range m.n {
		u, scale := m.encoder(int32(i))
		row := m.prediction(int32(i))[band*k:][:k]
		for a := range k {
			sum := 0.0
			for b := range k {
				sum += float64(w[a*k+b]) * float64(scale*u[b])
			}
			if math.Abs(sum-float64(row[a])) > 1e-5 {
				t.Fatalf("item %d: W e is %v, and the row has %v", i, sum, row[a])
			}
		}
	}
	for j := range k {
		var column float64
		for a := range k {
			column = math.Hypot(column, float64(w[a*k+j]))
		}
		if math.Abs(g.All[band*k+j]-column) > 1e-9 || g.Same[band*k+j] != float64(w[j*k+j]) {
			t.Errorf("gains %v and %v, want %v and %v", g.Same[band*k+j], g.All[band*k+j],
				w[j*k+j], column)
		}
	}
}
