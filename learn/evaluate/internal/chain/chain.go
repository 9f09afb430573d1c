// Package chain ranks items by a local term alone, see package local: a Markov chain of many steps.
package chain

import (
	"iter"
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/local"
)

// Chain ranks items by
//
//	b_j = Σ_p a^p w_p T_{i_p j}
//
// of package local, items of equal b by their degrees, and of equal degrees by their indices. Fit
// and Choose must not run beside other methods.
type Chain struct {
	degrees []int64
	popular []int32 // all items, by falling degree
	place   []int32 // of each item in popular
	counts  *local.Successions
	graph   *local.Graph
}

// New counts the successions in the histories of training users over n items of these degrees. No
// history is kept.
func New(n int, degrees []int64, histories iter.Seq[kalman.History]) *Chain {
	c := &Chain{degrees: degrees, popular: ranking.Order(degrees), place: make([]int32, n)}
	for at, i := range c.popular {
		c.place[i] = int32(at)
	}
	c.counts = local.Count(n, degrees, histories, local.Default().Neighbours)
	return c
}

// userPositions is the largest number of events of a history on which constants are chosen.
const userPositions = 5

// Choose returns the constants that are best for the last events of the histories. They are about
// the given number of events in all, and at least one a history. Hidden items are neither ranked
// nor foreseen.
func (c *Chain) Choose(histories []kalman.History, events int, hidden ...int32) *local.Spec {
	barred := ranking.SetOf(len(c.degrees), hidden...)
	each := min(max(events/max(len(histories), 1), 1), userPositions)
	found := make([][]local.Position, len(histories))
	parallel.Tasks(len(histories), func(u int) {
		found[u] = c.positions(histories[u], each, barred)
	})
	spec := local.ChooseAlone(c.counts, slices.Concat(found...), local.Default(), nil).Spec
	spec.Weight = 1
	return &spec
}

// positions returns the positions among the given number of last events of h, without barred items.
func (c *Chain) positions(
	h kalman.History, events int, barred *ranking.Set,
) (found []local.Position) {
	f := local.NewFinder(len(c.degrees), c.counts, local.Default().Events)
	f.Walk(h, events, func(_ int, p local.Position) {
		if barred.Has(p.Target.Item) {
			return
		}
		for _, i := range c.popular {
			if len(p.Top) == local.TopLength {
				break
			}
			if !f.Seen.Has(i) && !barred.Has(i) {
				p.Top = append(p.Top, c.scored(i))
			}
		}
		p.Target = c.scored(p.Target.Item)
		p.Near = slices.DeleteFunc(p.Near,
			func(s ranking.Scored) bool { return barred.Has(s.Item) })
		for at := range p.Near {
			p.Near[at] = c.scored(p.Near[at].Item)
		}
		found = append(found, p)
	}, func(kalman.Event) {})
	return found
}

// scored returns an item with its popularity.
func (c *Chain) scored(i int32) ranking.Scored {
	return ranking.Scored{Item: i, Score: float32(c.degrees[i])}
}

// Fit makes the graph by these constants. Their Events and Neighbours must not be above those of
// local.Default.
func (c *Chain) Fit(s *local.Spec) { c.graph = c.counts.Graph(s) }

// Scorer is the working memory of one worker. It is made after Fit.
type Scorer struct {
	c      *Chain
	sum    *local.Sum
	recent []kalman.Recent
	boosts []ranking.Boost
	scores []float32    // by place: an earlier place wins among equal scores
	seen   *ranking.Set // places
}

// Scorer returns new working memory.
func (c *Chain) Scorer() *Scorer {
	n := len(c.degrees)
	return &Scorer{
		c: c, sum: local.NewSum(n), scores: make([]float32, n), seen: ranking.NewSet(n),
	}
}

// Rank returns the rank, from 1, of an item among the items that are neither in the history nor
// hidden.
func (s *Scorer) Rank(history kalman.History, target int32, hidden ...int32) int32 {
	s.recent = local.Newest(s.recent[:0], history, local.Default().Events)
	s.boosts = s.c.graph.BoostsTo(s.boosts[:0], s.recent, s.sum)
	clear(s.scores)
	for _, b := range s.boosts {
		s.scores[s.c.place[b.Item]] = b.Score
	}
	s.seen.Clear()
	for _, e := range history {
		s.seen.Add(s.c.place[e.Item])
	}
	for _, i := range hidden {
		s.seen.Add(s.c.place[i])
	}
	return int32(ranking.Of(s.scores, s.c.place[target], s.seen))
}
