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
	Shares []Share
}

// A Share says how many items of a set the list has: Least, or all of the pool, to Most.
type Share struct {
	Has         func(item int32) bool
	Least, Most int
}

// Select appends to dst up to n items of a pool, in the order of their choice. The next item is,
// among those whose categories and shares are not full, the new ones unless these are, and those
// that leave room for what other shares still need, the first one with the largest
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
	c.need()
	for chosen := range min(n, len(pool)) {
		c.left = min(n, len(pool)) - chosen
		at := c.next(chosen > 0)
		if at < 0 { // the rest of what shares need cannot be had: it keeps no place free
			clear(c.needs)
			at = c.next(chosen > 0)
		}
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

	left    int   // places
	needs   []int // by share: items that are still to be chosen
	of      []int // by share: chosen items
	fresh   int   // chosen items that are new
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

// need notes what the shares need: no more than the pool has.
func (c *choice) need() {
	for _, s := range c.rule.Shares {
		n := 0
		for _, scored := range c.pool {
			if s.Has(scored.Item) {
				n++
			}
		}
		c.needs, c.of = append(c.needs, min(s.Least, n)), append(c.of, 0)
	}
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
	if c.isNew(at) && c.fresh >= c.rule.MaxNew || !c.shared(at) {
		return false
	}
	if c.rule.MaxPerCategory == 0 || c.categories == nil {
		return true
	}
	return !slices.ContainsFunc(c.categories[at],
		func(category uint32) bool { return c.full[category] >= c.rule.MaxPerCategory })
}

// shared tells whether the shares let an item have a place.
func (c *choice) shared(at int) bool {
	all, met := 0, 0
	for i, s := range c.rule.Shares {
		if s.Has(c.pool[at].Item) {
			if c.of[i] >= s.Most {
				return false
			}
			met += min(1, c.needs[i])
		}
		all += c.needs[i]
	}
	return met > 0 || all < c.left
}

// isNew tells of items whose number is bounded.
func (c *choice) isNew(at int) bool { return c.rule.MaxNew > 0 && c.rule.New(c.pool[at].Item) }

func (c *choice) take(at int, first bool, alike func(i, j int32) float32) {
	c.taken[at] = true
	if c.isNew(at) {
		c.fresh++
	}
	for i, s := range c.rule.Shares {
		if s.Has(c.pool[at].Item) {
			c.of[i]++
			c.needs[i] = max(0, c.needs[i]-1)
		}
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
