package model

import (
	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/kalman"
)

// NewState returns the state of a user without events.
func (m *Model) NewState() *kalman.State {
	s := m.transition.NewState()
	if m.local != nil {
		s.Recent = make([]kalman.Recent, 0, m.local.Events())
	}
	return s
}

// Renew makes s, which may be of another user or model, what NewState returns. It leaves s as it is
// and returns false if that is of another shape. No allocation.
func (m *Model) Renew(s *kalman.State) bool {
	recent := 0
	if m.local != nil {
		recent = m.local.Events()
	}
	return cap(s.Recent) == recent && m.transition.Renew(s)
}

// Fold takes one event into s. With the paper's filter it is kalman.Filter.Update with the item's
// encoder row e = d_i^{−t/2} u_i, in O(k). With learned dynamics it is kalman.Dynamics.Update with
// e and the read-outs W_b e, in O(r·k). Fold does not allocate, and is safe for concurrent use on
// different states. The state of a user is the fold of the user's events, and depends on nothing
// else.
func (m *Model) Fold(s *kalman.State, e Event) {
	t, i := m.at(e.Item)
	m.transition.fold(s, t, i, e)
	s.Remember(kalman.Recent{Item: e.Item, Weight: e.Weight})
}

// StateOf returns the state of a user with history h.
func (m *Model) StateOf(h History) *kalman.State {
	s := m.NewState()
	for _, e := range h {
		m.Fold(s, e)
	}
	return s
}

// Fetch starts to load the rows of an item into the cache and returns at once. A later Fold of an
// event on the item then finds them there. Call it one or two events ahead of the Fold, if the
// items vary.
func (m *Model) Fetch(item int32) {
	t, i := m.at(item)
	prefetch.Slice(row(t.basis, i, m.k))
	prefetch.Slice(t.prediction(i))
}

// InitialState returns the start of the paper's BGS-IMC for a user with history h: x̂ = H Uᵀs, z =
// Uᵀs, P = P_0. With forgetting, older events in s have smaller weights, as in Fold. For an empty
// history it is NewState. The model must not have learned dynamics.
func (m *Model) InitialState(h History) *kalman.State {
	s := m.StateOf(h)
	m.transition.queryTo(s.X, s, EstimatorGS)
	copy(s.P, m.NewState().P)
	return s
}
