package model

import (
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model/trend"
)

// withTrends returns m with random trends, and what they add.
func withTrends(rng *rand.Rand, m *Model) (x *Model, added []float32) {
	g := make([]float32, m.NumItems())
	added = make([]float32, len(g))
	for i := range g {
		g[i] = float32(rng.NormFloat64())
		added[i] = float32(0.5 * float64(g[i]))
	}
	s := &trend.Snapshot{Gain: 0.5, G: g}
	for i := m.n; i < m.NumItems(); i++ {
		s.Names = append(s.Names, m.ItemID(int32(i)))
	}
	return m.WithTrends(s), added
}

// TestTrends: every way to a score has what the trends add, new items included, and a model without
// them is left as it is.
func TestTrends(t *testing.T) {
	for name, spec := range kinds() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(15, 16))
			_, m := extended(t, spec, 5)
			x, _ := withTrends(rng, m)
			x, added := withTrends(rng, x) // instead of the first ones
			q, _ := randomQuery(rng, m)
			plain, scores := make([]float32, m.NumItems()), make([]float32, m.NumItems())
			boosts := q.Boosts
			q.Boosts = nil
			m.ScoresTo(plain, q)
			q.Boosts = boosts
			for i := range plain {
				plain[i] += added[i]
			}
			addBoosts(plain, boosts)
			x.ScoresTo(scores, q)
			for i, want := range plain {
				if alone := x.Score(int32(i), q); scores[i] != want || alone != want {
					t.Fatalf("item %d has %v, and %v alone, want %v", i, scores[i], alone, want)
				}
			}
			skip := ranking.SetOf(len(scores), 3)
			want := topOracle(scores, 12, skip)
			for i, got := range x.TopN(nil, q, 12, skip) {
				if got != want[i] {
					t.Fatalf("place %d has %v, want %v", i, got, want[i])
				}
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if len(m.TopN(nil, q, 12, skip)) != 12 {
				t.Error("the model without trends is closed with the one that has them")
			}
		})
	}
}
