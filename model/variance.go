package model

import "github.com/gsimc/gsimc/kalman"

// HasVariance tells whether the model knows how sure it is of a query: with learned dynamics that track a deviation. The
// constants of the paper's filter are given and not learned from data, so its P says nothing about the error of x̂.
func (m *Model) HasVariance() bool { return m.dynamics != nil && m.dynamics.HasDeviation() }

// VarianceTo stores the variances of the k coordinates of a user's query at time now in p:
//
//	P̄ = P + Σ_η (1 + Drift·Δt)     and P_0 for a user without events
//
// It shrinks with evidence and grows with the time Δt since the newest event. O(k). It panics if not HasVariance.
func (m *Model) VarianceTo(p []float32, s *kalman.State, now int64) {
	if !m.HasVariance() {
		panic("model: variance of a model that has none")
	}
	m.checkQuery(p)
	m.dynamics.VarianceTo(p, s, now)
}

// Uncertainty is what is left of the prior variance: min(1, Σ_l P̄_l / Σ_l P_0,l). 1: nothing is known of the user beyond what
// is expected of everyone. Since the columns of U are orthonormal, Σ_l P_l is also the variance of all scores together (for
// t = 0).
func (m *Model) Uncertainty(p []float32) float64 {
	m.checkQuery(p)
	var left, prior float64
	for j, x := range p {
		left += float64(x)
		prior += float64(m.dynamics.P0[j])
	}
	return min(1, left/prior)
}

// ScoreVariance is the variance of the score of item i that follows from the variances p of the query:
//
//	Var ŷ_i = Σ_l v_il² P̄_l,    v_i = d_i^{t/2} u_i
func (m *Model) ScoreVariance(i int32, p []float32) float64 {
	m.checkItem(i)
	m.checkQuery(p)
	row, g := m.decoder(i)
	sum := 0.0
	for j, u := range row {
		sum += float64(u) * float64(u) * float64(p[j])
	}
	return float64(g) * float64(g) * sum
}
