package model

import (
	"fmt"

	"github.com/gsimc/gsimc/internal/prefetch"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/ranking"
)

// HasVariance tells whether the model knows how sure it is of a query: with learned dynamics that
// track a deviation. The constants of the paper's filter are given and not learned from data, so
// its P says nothing about the error of x̂.
func (m *Model) HasVariance() bool { return m.deviation != nil }

// leastReduction is the share of the variance of a taste that evidence must be able to remove for
// [Model.Uncertainty] to be told: a figure of three decimals moves by it.
const leastReduction = 1e-3

// TellsUncertainty reports whether events reduce the variance of a query, so that
// [Model.Uncertainty] tells users apart. It is false without variances, and where training found
// that no evidence removes more than leastReduction of the variance of a taste
// (kalman.Dynamics.ThetaFloor near 1, or Σ_θ of 0): then Uncertainty would be about 1 for every
// user whose newest event is recent.
func (m *Model) TellsUncertainty() bool {
	return m.HasVariance() && m.deviation.ThetaFloor <= 1-leastReduction && m.freshVariance > 0
}

// VarianceTo stores in p how far the k coordinates of a user's query may be from the user's taste
// at time now, as variances V:
//
//	V = Σ_θ ∘ (φ + (1 − φ) / (1 + N Σ_θ/Σ_ν)) + Σ_η Drift Δt
//
// after N events, the newest Δt ago (see kalman.Dynamics.UncertaintyTo). It shrinks with evidence
// and grows with time. It does not hold the noise Σ_ν of a single event. O(k). It panics if not
// HasVariance.
func (m *Model) VarianceTo(p []float32, s *kalman.State, now int64) {
	if !m.HasVariance() {
		panic("model: variance of a model that has none")
	}
	m.checkQuery(p)
	m.deviation.UncertaintyTo(p, s, now)
}

// Uncertainty is what is left of the variance of a new user, min(1, Σ_l V_l / Σ_l V_l(new)). 1:
// nothing is known of the user beyond what is expected of everyone. Since the columns of U are
// orthonormal, Σ_l V_l is also the variance of all scores together (for t = 0).
func (m *Model) Uncertainty(p []float32) float64 {
	m.checkQuery(p)
	var left float64
	for _, x := range p {
		left += float64(x)
	}
	if left >= m.freshVariance { // both may be 0
		return 1
	}
	return left / m.freshVariance
}

// findVariance sets deviation and freshVariance, if the model knows its variance.
func (m *Model) findVariance() {
	m.deviation = m.transition.deviation()
	if !m.HasVariance() {
		return
	}
	fresh := make([]float32, m.k)
	m.deviation.UncertaintyTo(fresh, m.NewState(), 0)
	m.freshVariance = 0
	for _, x := range fresh {
		m.freshVariance += float64(x)
	}
}

// DeviationsTo stores in dst the standard deviations of the scores of items that follow from the
// variances p of the query (see VarianceTo), the roots of
//
//	Var ŷ_i = Σ_l v_il² V_l,    v_i = d_i^{t/2} u_i
//
// in float32: with the bits of those that TopNUpperConfidence ranks by. dst is as long as items.
// O(k) for each of them, no allocation.
func (m *Model) DeviationsTo(dst []float32, items []ranking.Scored, p []float32) {
	if len(dst) != len(items) {
		panic(fmt.Sprintf("model: %d items, but deviations of length %d", len(items), len(dst)))
	}
	m.checkQuery(p)
	rows := prefetch.Stage{Distance: rowsAhead, Begin: func(i int) {
		u, _ := m.decoder(items[i].Item)
		prefetch.Slice(u)
	}}
	for i := range prefetch.Ahead(len(items), rows) {
		m.checkItem(items[i].Item)
		t, at := m.at(items[i].Item)
		t.spreadTo(dst[i:i+1], p, at)
	}
}

// rowsAhead is the distance in items at which DeviationsTo fetches a row of the basis: the rows of
// a list lie scattered.
const rowsAhead = 4
