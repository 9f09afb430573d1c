package model

import (
	"fmt"

	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
)

// HasVariance reports whether the model has variances of its queries. Learned dynamics that track a
// deviation have them, unless training found them wrong and withheld them, see Deviation.Withheld.
// The constants of the paper's filter are chosen and not learned from data, so its P is no measure
// of the error of x̂.
func (m *Model) HasVariance() bool { return m.deviation != nil }

// leastReduction is the smallest useful reduction of [Model.Uncertainty] by events: one unit in the
// third decimal.
const leastReduction = 1e-3

// TellsUncertainty reports whether [Model.Uncertainty] depends on a user's events. It is false if
// the model has no variances. It is also false if training found that events remove less than 1e-3
// of the variance of a taste (kalman.Dynamics.ThetaFloor near 1, or Σ_θ = 0): Uncertainty would be
// about 1 for every user with a recent event.
func (m *Model) TellsUncertainty() bool {
	return m.HasVariance() && m.deviation.ThetaFloor <= 1-leastReduction && m.freshVariance > 0
}

// VarianceTo stores in p the k variances V of the error of a user's query, that is of its
// difference from the user's taste at time now:
//
//	V = Σ_θ ∘ (φ + (1 − φ) / (1 + N Σ_θ/Σ_ν)) + Σ_η Drift Δt
//
// after N events, the newest Δt ago, with φ the ThetaFloor (see kalman.Dynamics.UncertaintyTo). V
// shrinks with events and grows with time. It does not include the noise Σ_ν of a single event.
// O(k). VarianceTo panics on a model without variances, see HasVariance.
func (m *Model) VarianceTo(p []float32, s *kalman.State, now int64) {
	if !m.HasVariance() {
		panic("model: variance of a model that has none")
	}
	m.checkQuery(p)
	m.deviation.UncertaintyTo(p, s, now)
}

// Uncertainty returns the total of the variances p in units of a new user's total,
// min(1, Σ_l V_l / Σ_l V_l(new)). At 1 the model knows no more of the user than of a new one. Since
// the columns of U are orthonormal, Σ_l V_l is also the sum of the variances of all scores (for
// t = 0).
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

// findVariance sets deviation and freshVariance if the model has variances.
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

// DeviationsTo stores in dst the standard deviations of the scores of items, given the variances
// p = V of the query (see VarianceTo). They are the roots of
//
//	Var ŷ_i = Σ_l v_il² V_l,    v_i = d_i^{t/2} u_i
//
// in float32, equal in all bits to the deviations that TopNUpperConfidence ranks by. dst is as long
// as items. O(k) for each item, no allocation.
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

// rowsAhead is the distance in items at which DeviationsTo fetches a row of the basis. The rows of
// a list lie scattered in memory, so the processor does not fetch them by itself.
const rowsAhead = 4
