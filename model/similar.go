package model

// SimilarTo stores in q the query of what goes with item i: what an event on it, of weight 1, adds
// to the query of a user of whom nothing is known,
//
//	q = q(event on i) − q(no event)
//
// and so to the scores, with the local term of the event. With learned dynamics it takes the
// expectation μ off, which is most of the scores after a single event and the same for all items.
// In the paper's model a user without events has no scores, and q is the query of the one event.
// O(k·r), and allocates two states.
func (m *Model) SimilarTo(q *Query, i int32, est Estimator) {
	m.checkItem(i)
	s, none := m.NewState(), m.NewQuery()
	m.QueryTo(none, s, est)
	m.Fold(s, Event{Item: i, Weight: 1})
	m.QueryTo(q, s, est)
	for j, x := range none.Spectrum {
		q.Spectrum[j] -= x
	}
}
