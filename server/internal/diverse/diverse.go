// Package diverse chooses lists whose items differ from each other, from a pool of the best ones.
//
// # Conventions
//
// A pool is ordered: the best item first. The choice is greedy: one item after the other, each the
// best beside those before it, by maximal marginal relevance (J. Carbonell, J. Goldstein, "The Use
// of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries", SIGIR 1998).
// It depends on nothing but its arguments. A determinantal point process would judge the list as a
// whole, but has no weight that people can read, and its greedy form chooses in the same way.
package diverse

import (
	"slices"

	"github.com/gsimc/gsimc/internal/ranking"
)

// Rule says what a list must be like.
type Rule struct {
	// MaxPerCategory is the most items of one category; 0: any number.
	MaxPerCategory int
	// MaxNew is the most items that are New; 0: any number.
	MaxNew int
	New    func(item int32) bool // not called if MaxNew is 0
	// Lambda, from 0 to 1, is the weight of an item's score, that of its being unlike the others
	// being 1 - Lambda. 1: the order of the pool.
	Lambda float64
}

// Select appends to dst up to n items of a pool, in the order of their choice. The next item is,
// among those whose categories are not full, and the new ones unless these are, the first one with
// the largest
//
//	Lambda * r - (1 - Lambda) * max over the chosen items j of alike(i, j)
//
// where r is the score, brought to 0 … 1 linearly over the pool, and the maximum over none is 0.
// categories has those of each item of the pool; nil: none have any. alike is not called if Lambda
// is 1.
func (r Rule) Select(
	dst, pool []ranking.Scored, n int, categories [][]uint32, alike func(i, j int32) float32,
) []ranking.Scored {
	c := &choice{rule: r, pool: pool, full: map[uint32]int{}, taken: make([]bool, len(pool)),
		nearest: make([]float32, len(pool)), categories: categories}
	c.measure()
	for chosen := range min(n, len(pool)) {
		at := c.next(chosen > 0)
		if at < 0 {
			break
		}
		dst = append(dst, pool[at])
		c.take(at, chosen == 0, alike)
	}
	return dst
}

// choice is a selection under way.
type choice struct {
	rule       Rule
	pool       []ranking.Scored
	categories [][]uint32
	low, width float64 // of the scores

	fresh   int // chosen items that are new
	taken   []bool
	nearest []float32      // by item of the pool: to the chosen item that is most alike
	full    map[uint32]int // chosen items of a category
}

// measure notes the range of the scores.
func (c *choice) measure() {
	if len(c.pool) == 0 {
		return
	}
	by := func(a, b ranking.Scored) int {
		switch {
		case a.Score < b.Score:
			return -1
		case a.Score > b.Score:
			return 1
		}
		return 0
	}
	c.low = float64(slices.MinFunc(c.pool, by).Score)
	c.width = float64(slices.MaxFunc(c.pool, by).Score) - c.low
}

// next returns the index of the next item, -1 if none is left.
func (c *choice) next(others bool) int {
	best, most := -1, 0.0
	for at := range c.pool {
		if c.taken[at] || !c.allowed(at) {
			continue
		}
		if c.rule.Lambda == 1 {
			return at
		}
		value := 0.0
		if c.width > 0 {
			value = c.rule.Lambda * (float64(c.pool[at].Score) - c.low) / c.width
		}
		if others {
			value -= (1 - c.rule.Lambda) * float64(c.nearest[at])
		}
		if best < 0 || value > most {
			best, most = at, value
		}
	}
	return best
}

// allowed tells whether there is room for an item.
func (c *choice) allowed(at int) bool {
	if c.isNew(at) && c.fresh >= c.rule.MaxNew {
		return false
	}
	if c.rule.MaxPerCategory == 0 || c.categories == nil {
		return true
	}
	return !slices.ContainsFunc(c.categories[at],
		func(category uint32) bool { return c.full[category] >= c.rule.MaxPerCategory })
}

// isNew tells of items whose number is bounded.
func (c *choice) isNew(at int) bool { return c.rule.MaxNew > 0 && c.rule.New(c.pool[at].Item) }

func (c *choice) take(at int, first bool, alike func(i, j int32) float32) {
	c.taken[at] = true
	if c.isNew(at) {
		c.fresh++
	}
	if c.categories != nil {
		for _, category := range c.categories[at] {
			c.full[category]++
		}
	}
	if c.rule.Lambda == 1 {
		return
	}
	for other := range c.pool {
		if !c.taken[other] {
			s := alike(c.pool[other].Item, c.pool[at].Item)
			if first || s > c.nearest[other] {
				c.nearest[other] = s
			}
		}
	}
}
