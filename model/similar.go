package model

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/vec"
)

// Alike returns the cosine between the rows of two items in the basis, from -1 to 1: 1 for items
// that the same tastes go with. It is 0 for an item without a taste, whose row is 0. O(k).
func (m *Model) Alike(i, j int32) float32 {
	m.checkItem(i)
	m.checkItem(j)
	a, _ := m.decoder(i)
	b, _ := m.decoder(j)
	norms := math.Sqrt(float64(vec.Dot(a, a))) * math.Sqrt(float64(vec.Dot(b, b)))
	if norms == 0 {
		return 0
	}
	return float32(float64(vec.Dot(a, b)) / norms)
}

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
