package model

import (
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/model/again"
)

// 10,000 lists of models that have everything at once: a local term, new items with users and items
// that borrow, trends, terms for items that a user comes back to, and items that a filter leaves
// out. Each list is the best of all scores, and the parts of each score add up to it.
func TestEverythingTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	returns := again.Spec{Decay: 0.6, Constant: 1, Recency: 2, Newest: 3}
	for _, size := range []struct{ known, k int }{{120, 5}, {700, 13}, {1200, 32}} {
		x, _ := withTrends(rng, extendedLocal(t, size.known, size.k, 40))
		for round := range soak.Times(3334) {
			h := explainHistory(rng, x.NumItems(), rng.IntN(30))
			s, q := x.StateOf(h), x.NewQuery()
			x.QueryTo(q, s, EstimatorBGS)
			own := returns.Of(h, 1_010_000)
			q.Boosts = returns.AddTo(q.Boosts, own)
			scores := make([]float32, x.NumItems())
			x.ScoresTo(scores, q)
			skip := randomSet(rng, len(scores), []float64{0, 0.1, 0.9, 0.999}[rng.IntN(4)])
			n := []int{1, 10, 100}[rng.IntN(3)]
			want := topOracle(scores, n, skip)
			check.MustSame(t, want, x.TopN([]ranking.Scored{}, q, n, skip), "%v, list %d", size,
				round)
			if round%100 == 0 {
				checkParts(t, x, h, scores, returns, own)
			}
		}
	}
}

// randomSet has a part of n items.
func randomSet(rng *rand.Rand, n int, part float64) *ranking.Set {
	s := ranking.NewSet(n)
	for i := range int32(n) {
		if rng.Float64() < part {
			s.Add(i)
		}
	}
	return s
}

// checkParts checks that the explanation of h and the terms of the user's own items are the scores.
func checkParts(
	t *testing.T, x *Model, h History, scores []float32, returns again.Spec, own []again.Own,
) {
	t.Helper()
	all, terms := make([]int32, len(scores)), make([]float64, len(scores))
	for i := range all {
		all[i] = int32(i)
	}
	for i := range own {
		terms[own[i].Item] = returns.Term(&own[i])
	}
	parts := x.Explain(x.NewState(), h, all, EstimatorBGS)
	for i, term := range terms {
		parts.Base[i] += term
		checkExplained(t, parts, i, scores[i])
	}
}
