package model

import (
	"fmt"

	"github.com/gsimc/gsimc/internal/prefetch"
	"github.com/gsimc/gsimc/internal/vec"
	"github.com/gsimc/gsimc/kalman"
)

// NewState returns the state of a user without events.
func (m *Model) NewState() *kalman.State {
	if m.dynamics != nil {
		return m.dynamics.NewState()
	}
	return m.kalman.NewState()
}

// Fold takes one event into s: kalman.Filter.Update with the item's encoder row e = d_i^{−t/2} u_i in O(k), or
// kalman.Dynamics.Update with its read-out W_b e as well in O(r·k). No allocation; safe for concurrent use on different
// states. A state is this fold over a user's events and nothing else.
func (m *Model) Fold(s *kalman.State, e Event) {
	u, g := m.encoder(e.Item)
	if m.dynamics != nil {
		m.dynamics.Update(s, m.responseRows(e.Item), u, g, e.Weight, e.Time)
		return
	}
	w := float32(e.Weight * g) // the update is linear in w·e, so the factor can stand on either
	if m.rotation == nil {
		m.kalman.UpdateDiagonal(s, u, m.response, w, e.Time)
	} else {
		t, i := m.at(e.Item)
		m.kalman.Update(s, u, row(t.predictor, i, m.k), w, e.Time)
	}
}

// Fetch begins to bring what Fold of an event on the item reads of the model into the cache, and returns at once. It is worth
// while an event or two ahead of its Fold, when the items vary.
func (m *Model) Fetch(item int32) {
	u, _ := m.encoder(item)
	prefetch.Slice(u)
	if m.dynamics != nil {
		prefetch.Slice(m.responseRows(item))
	}
}

// InitialState returns the start of the paper's BGS-IMC for a user with history h: x̂ = H Uᵀs, z = Uᵀs, P = P_0. With
// forgetting, the events in s have faded as Fold lets them. Without events it is NewState. The model must not have learned
// dynamics.
func (m *Model) InitialState(h History) *kalman.State {
	s := m.NewState()
	for _, e := range h {
		m.Fold(s, e)
	}
	m.QueryTo(s.X, s, EstimatorGS)
	copy(s.P, m.kalman.P0)
	return s
}

// QueryTo stores in q, k long, the estimate of the user's spectrum that items are scored against:
//
//	EstimatorGS   q = H z, z = Uᵀs    (paper, Section 3)
//	EstimatorBGS  q = x̂              (paper, Section 4)
//
// or, with learned dynamics and whatever the estimator, q = μ + Σ_b y_b + b, the expected spectrum of the next event.
//
// q may be s.X but must not overlap the rest of s. O(k); O(k²) for EstimatorGS with a full covariance, where z is rotated
// back and forth: q = QᵀHQ z. It panics on another estimator.
func (m *Model) QueryTo(q []float32, s *kalman.State, est Estimator) {
	if m.dynamics != nil {
		m.dynamics.QueryTo(q, s)
		return
	}
	if len(q) != m.k || len(s.X) != m.k || len(s.Z) != m.k {
		panic(fmt.Sprintf("model: rank %d, but query of length %d and state of %d", m.k, len(q), len(s.Z)))
	}
	switch {
	case est == EstimatorBGS:
		copy(q, s.X)
	case est != EstimatorGS:
		panic(fmt.Sprintf("model: unknown estimator %q", est))
	case m.rotation == nil:
		for j, h := range m.response {
			q[j] = h * s.Z[j]
		}
	default:
		clear(q)
		for j, h := range m.response {
			qj := row(m.rotation, j, m.k)
			hz := h * vec.Dot(qj, s.Z) // coordinate j of HQz
			for l, r := range qj {
				q[l] += float32(hz * r)
			}
		}
	}
}

// row returns row i of a row-major matrix with k columns.
func row[T any](a []T, i, k int) []T { return a[i*k : (i+1)*k : (i+1)*k] }
