package model

import "github.com/gsimc/gsimc/kalman"

// transition is the law by which the state of a user moves with events, and by which a query
// follows from the state. There are three: [diagonalFilter] and [rotatedFilter], which are the
// paper's, and [learnedDynamics]. A model gets its transition once, from learnTransition when it is
// trained and from readTransition when it is opened.
//
// An item is given by its table and its row there. A transition that keeps numbers for each item
// has them in table.predictions. A transition does not change once the model is built.
type transition interface {
	// NewState returns the state of a user without events.
	NewState() *kalman.State

	// Validate returns the faults of the constants.
	Validate() error

	// fold takes an event on row i of t into s. No allocation.
	fold(s *kalman.State, t *table, i int, e Event)

	// queryTo stores the query of s in q, k long, see [Model.QueryTo].
	queryTo(q []float32, s *kalman.State, est Estimator)

	// deviation returns the dynamics that know the variance of a query, or nil.
	deviation() *kalman.Dynamics

	// unroll writes the query as a sum over the events of a history, see [Model.Explain].
	unroll(u *unrolling)

	// predict returns the predictions of new items, row by row: those of t, whose rows are Qᵀu in
	// float64. It returns nil if the transition keeps nothing for each item.
	predict(t *table, rows [][]float64) []float32

	// tensors lists the arrays of the file that the transition needs, t being the table of the
	// basis.
	tensors(t *table) []tensor

	// describe adds the constants to d.
	describe(d *Description)
}

// learnTransition chooses the transition and learns its constants. u is the basis and response H(λ)
// in float64.
func (m *Model) learnTransition(u, response []float64, h Histories) error {
	if m.spec.Dynamics.learned() {
		return m.learnDynamics(h)
	}
	return m.learnFilter(u, response, h.Validation)
}

// readTransition reads the transition of m and what it keeps for each item.
func (r *tensorReader) readTransition(m *Model) {
	switch {
	case m.spec.Dynamics.learned():
		r.readDynamics(m)
	case m.spec.Covariance == CovarianceFull:
		r.readRotatedFilter(m)
	default:
		r.readDiagonalFilter(m)
	}
}
