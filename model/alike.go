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
