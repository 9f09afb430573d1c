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

// Added makes of q, the query of a user, what the events add to it:
//
//	q(events) − q(no event)
//
// and so to the scores, with the local term of the events. With learned dynamics this takes the
// expectation μ off, which is most of the scores after few events and the same for all users. In
// the paper's model a user without events has no scores, and q stays as it is. O(k).
func (m *Model) Added(q *Query, est Estimator) {
	none := m.NewQuery()
	m.QueryTo(none, m.NewState(), est)
	for j, x := range none.Spectrum {
		q.Spectrum[j] -= x
	}
}
