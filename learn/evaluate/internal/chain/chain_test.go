package chain

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/local"
)

// histories draws users who take item i+1 after item i, but for one event in four. Popular items
// are those of small indices.
func histories(rng *rand.Rand, n, users int) (all []kalman.History) {
	for range users {
		i, seen := rng.IntN(n), map[int]bool{}
		var h kalman.History
		for range 2 + rng.IntN(15) {
			if rng.IntN(4) == 0 {
				i = rng.IntN(1 + rng.IntN(n))
			}
			if i = (i + 1) % n; !seen[i] {
				seen[i] = true
				h = append(h, kalman.Event{Item: int32(i), Weight: 1 + float32(rng.IntN(3))})
			}
		}
		all = append(all, h)
	}
	return all
}

func degreesOf(n int, histories []kalman.History) []int64 {
	degrees := make([]int64, n)
	for _, h := range histories {
		for _, e := range h {
			degrees[e.Item]++
		}
	}
	return degrees
}

// The rank is that of a sort of all items by the definition.
func TestRank(t *testing.T) {
	const n = 60
	rng := rand.New(rand.NewPCG(1, 1))
	training := histories(rng, n, 30) // few enough for equal numbers, and for numbers that are 0
	degrees := degreesOf(n, training)
	c := New(n, degrees, slices.Values(training))
	spec := local.Default()
	spec.Weight = 1
	c.Fit(&spec)
	s := c.Scorer()
	for _, h := range histories(rng, n, 300) {
		if len(h) < 2 {
			continue
		}
		past, target := h[:len(h)-1], h[len(h)-1].Item
		b := make([]float64, n)
		for p := range min(len(past), spec.Events) {
			e := past[len(past)-1-p]
			for j := range b {
				b[j] += math.Pow(spec.Fade, float64(p)) * float64(e.Weight) *
					float64(c.graph.Weight(e.Item, int32(j)))
			}
		}
		var order []int32
		for i := range int32(n) {
			if !slices.ContainsFunc(past, func(e kalman.Event) bool { return e.Item == i }) {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(i, j int32) int {
			if d := b[j] - b[i]; math.Abs(d) > 1e-6 {
				return cmp.Compare(d, 0)
			}
			return cmp.Compare(degrees[j], degrees[i])
		})
		want := int32(1 + slices.Index(order, target))
		check.MustSame(t, want, s.Rank(past, target), "rank")
	}
}

// The constants rank the validation users better than others.
func TestChoose(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(1, 2))
	training, validation := histories(rng, n, 800), histories(rng, n, 500)
	c := New(n, degreesOf(n, training), slices.Values(training))
	value := func(spec *local.Spec) (ndcg float64) {
		c.Fit(spec)
		s := c.Scorer()
		for _, h := range validation {
			if len(h) < 2 {
				continue
			}
			if r := s.Rank(h[:len(h)-1], h[len(h)-1].Item); r <= 10 {
				ndcg += 1 / math.Log2(float64(r)+1)
			}
		}
		return ndcg
	}
	chosen := c.Choose(validation, 6000)
	check.Same(t, 1.0, chosen.Weight, "weight of the choice %+v", chosen)
	start := local.Default()
	start.Weight = 1
	worse := *chosen
	worse.Backward, worse.Fade = 1, 0.9 // the chain goes forward, one step at a time
	for _, h := range validation {
		for _, p := range c.positions(h, len(h), ranking.SetOf(n, 1, 2, 3)) {
			for _, s := range slices.Concat(p.Top, p.Near, []ranking.Scored{p.Target}) {
				check.MustSame(t, true, s.Item < 1 || s.Item > 3, "item %d is not barred", s.Item)
			}
		}
	}
	got, first, other := value(chosen), value(&start), value(&worse)
	if got < first || got <= other {
		t.Errorf("NDCG %v by %+v, %v by the start, and %v against the chain", got, chosen, first, other)
	}
}
