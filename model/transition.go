package model

import (
	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/internal/sealed"
)

// transition is the law of motion of a user's state: how an event changes the state, and which
// query follows from it. There are three: [diagonalFilter] and [rotatedFilter] are the paper's
// filter, and [learnedDynamics] is learned. A model gets its transition once, from learnTransition
// in training or from readTransition in Open, and the transition does not change after that.
//
// Methods get an item as a table and a row in it. Numbers that a transition keeps for each item
// stand in table.predictions.
type transition interface {
	// NewState returns the state of a user without events.
	NewState() *kalman.State

	// Renew makes s what NewState returns, or returns false, see [kalman.Dynamics.Renew].
	Renew(s *kalman.State) bool

	// Validate returns the faults of the constants.
	Validate() error

	// fold takes an event on row i of t into s. No allocation.
	fold(s *kalman.State, t *table, i int, e Event)

	// queryTo stores the query of s in q, k long, see [Model.QueryTo].
	queryTo(q []float32, s *kalman.State, est Estimator)

	// deviation returns the dynamics that give variances of queries, or nil if there are none.
	deviation() *kalman.Dynamics

	// unroll splits the query into a sum over the events of a history, see [Model.Explain].
	unroll(u *unrolling)

	// predict returns the predictions of the items of t, a table of new items. rows are the rows
	// Qᵀu of t in float64. It returns nil if the transition keeps no predictions.
	predict(t *table, rows [][]float64) []float32

	// tensors lists the transition's arrays in the file. t is the table of the basis.
	tensors(t *table) []sealed.Tensor

	// describe adds the constants to d.
	describe(d *Description)
}

// learnTransition chooses the transition and learns its constants. u is the basis and response is
// H(λ), both in float64.
func (m *Model) learnTransition(u, response []float64, h *fit.Histories) error {
	if m.spec.Dynamics.learned() {
		return m.learnDynamics(h)
	}
	return m.learnFilter(u, response, h.Validation)
}

// readTransition reads the transition of m and its predictions.
func (m *Model) readTransition(r *safetensors.Reader) {
	switch {
	case m.spec.Dynamics.learned():
		m.readDynamics(r)
	case m.spec.Covariance == CovarianceFull:
		m.readRotatedFilter(r)
	default:
		p0 := safetensors.Array[float32](r, "p0", int64(m.k))
		m.transition = &diagonalFilter{newPaperFilter(&m.spec, m.response, p0)}
	}
}
