package model

import (
	"github.com/gsimc/gsimc/internal/prefetch"
	"github.com/gsimc/gsimc/kalman"
)

// NewState returns the state of a user without events.
func (m *Model) NewState() *kalman.State { return m.transition.NewState() }

// Fold takes one event into s: kalman.Filter.Update with the item's encoder row e = d_i^{−t/2} u_i
// in O(k), or kalman.Dynamics.Update with its read-out W_b e as well in O(r·k). No allocation; safe
// for concurrent use on different states. A state is this fold over a user's events and nothing
// else.
func (m *Model) Fold(s *kalman.State, e Event) {
	t, i := m.at(e.Item)
	m.transition.fold(s, t, i, e)
}

// Fetch begins to bring what Fold of an event on the item reads of the model into the cache, and
// returns at once. It is worth while an event or two ahead of its Fold, when the items vary.
func (m *Model) Fetch(item int32) {
	t, i := m.at(item)
	prefetch.Slice(row(t.basis, i, m.k))
	prefetch.Slice(t.prediction(i))
}

// InitialState returns the start of the paper's BGS-IMC for a user with history h: x̂ = H Uᵀs, z =
// Uᵀs, P = P_0. With forgetting, the events in s have faded as Fold lets them. Without events it is
// NewState. The model must not have learned dynamics.
func (m *Model) InitialState(h History) *kalman.State {
	s := m.NewState()
	for _, e := range h {
		m.Fold(s, e)
	}
	m.QueryTo(s.X, s, EstimatorGS)
	copy(s.P, m.NewState().P)
	return s
}

// QueryTo stores in q, k long, the estimate of the user's spectrum that items are scored against:
//
//	EstimatorGS   q = H z, z = Uᵀs    (paper, Section 3)
//	EstimatorBGS  q = x̂              (paper, Section 4)
//
// or, with learned dynamics and any estimator, q = μ + Σ_b y_b + b, the expected spectrum
// of the next event.
//
// q may be s.X but must not overlap the rest of s. O(k); O(k²) for EstimatorGS with a full
// covariance, where z is rotated back and forth: q = QᵀHQ z. It panics on another estimator.
func (m *Model) QueryTo(q []float32, s *kalman.State, est Estimator) {
	m.transition.queryTo(q, s, est)
}
