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

// Select appends to dst up to n items of a pool, in the order of their choice. Places are kept for
// the best items that shares need, as many as fit beside each other. The next item is, among those
// that keep the rule and leave the kept places free, or serve the shares of an item with a kept
// place as well as that does, the first one with the largest
//
//	Lambda * r - (1 - Lambda) * max over the chosen items j of alike(i, j)
//
// where r is the score, brought to 0 … 1 linearly over the pool, and the maximum over none is 0.
// categories has those of each item of the pool; nil: none have any. alike is not called if Lambda
// is 1.
func (r Rule) Select(
	dst, pool []ranking.Scored, n int, categories [][]uint32, alike func(i, j int32) float32,
) []ranking.Scored {
	c := &choice{rule: r, pool: pool, categories: categories, left: min(n, len(pool)),
		taken: make([]bool, len(pool)), nearest: make([]float32, len(pool)),
		kept: make([]bool, len(pool)), keptOf: make([][]int, len(r.Shares)),
		of: make([]int, len(r.Shares)), full: map[uint32]int{}}
	c.measure()
	c.keepPlaces()
	for first := true; c.left > 0; first = false {
		at := c.next(!first)
		if at < 0 {
			break
		}
		dst = append(dst, pool[at])
		c.take(at, first, alike)
	}
	return dst
}

// choice is a selection under way.
type choice struct {
	rule       Rule
	pool       []ranking.Scored
	categories [][]uint32
	low, width float64 // of the scores

	left    int // places that no item was chosen for
	taken   []bool
	nearest []float32 // by item of the pool: to the chosen item that is most alike

	kept   []bool  // by item of the pool: a place is kept for it
	places int     // that are kept
	keptOf [][]int // by share: items for which a place was kept once, see kept
	// Of the chosen items and those with a kept place:
	of    []int          // by share
	fresh int            // new items
	full  map[uint32]int // items of a category
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

// keepPlaces keeps places for the best items that shares need, as many as fit beside each other.
func (c *choice) keepPlaces() {
	for i, s := range c.rule.Shares {
		for at := range c.pool {
			if c.of[i] >= s.Least || c.places == c.left {
				break
			}
			if s.Has(c.pool[at].Item) && !c.kept[at] && c.fits(at) {
				c.keep(at)
			}
		}
	}
}

// keep keeps a place for an item, and giveBack gives it back.
func (c *choice) keep(at int) {
	c.kept[at] = true
	c.places++
	c.count(at, 1)
	for i, s := range c.rule.Shares {
		if s.Has(c.pool[at].Item) {
			c.keptOf[i] = append(c.keptOf[i], at)
		}
	}
}

func (c *choice) giveBack(at int) {
	c.kept[at] = false
	c.places--
	c.count(at, -1)
}

// count adds to the numbers of what an item is.
func (c *choice) count(at, by int) {
	if c.isNew(at) {
		c.fresh += by
	}
	for i, s := range c.rule.Shares {
		if s.Has(c.pool[at].Item) {
			c.of[i] += by
		}
	}
	if c.categories != nil {
		for _, category := range c.categories[at] {
			c.full[category] += by
		}
	}
}

// spare is the last item with a kept place that share i has; -1: none.
func (c *choice) spare(i int) int {
	for last := len(c.keptOf[i]) - 1; last >= 0; last-- {
		if at := c.keptOf[i][last]; c.kept[at] {
			return at
		}
		c.keptOf[i] = c.keptOf[i][:last]
	}
	return -1
}

// instead is an item whose kept place an item without one can have, which is of all its shares and
// fits where it was; -1: none.
func (c *choice) instead(at int) int {
	for i, s := range c.rule.Shares {
		other := c.spare(i)
		if other < 0 || !s.Has(c.pool[at].Item) || !c.covers(at, other) {
			continue
		}
		c.count(other, -1)
		fits := c.fits(at)
		c.count(other, 1)
		if fits {
			return other
		}
	}
	return -1
}

// covers tells whether an item is of all shares of another one.
func (c *choice) covers(at, other int) bool {
	return !slices.ContainsFunc(c.rule.Shares, func(s Share) bool {
		return s.Has(c.pool[other].Item) && !s.Has(c.pool[at].Item)
	})
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

// allowed tells whether an item can be the next one.
func (c *choice) allowed(at int) bool {
	return c.kept[at] || c.free(at) || c.instead(at) >= 0
}

// free tells whether there is a place for an item besides the kept ones.
func (c *choice) free(at int) bool { return c.places < c.left && c.fits(at) }

// fits tells whether an item is within all bounds.
func (c *choice) fits(at int) bool {
	if c.isNew(at) && c.fresh >= c.rule.MaxNew {
		return false
	}
	for i, s := range c.rule.Shares {
		if c.of[i] >= s.Most && s.Has(c.pool[at].Item) {
			return false
		}
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
	switch {
	case c.kept[at]:
		c.giveBack(at)
	case !c.free(at):
		c.giveBack(c.instead(at))
	}
	c.taken[at] = true
	c.left--
	c.count(at, 1)
	c.release(at)
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

// release gives back places that shares of a chosen item no longer need.
func (c *choice) release(at int) {
	for i, s := range c.rule.Shares {
		other := c.spare(i)
		if other < 0 || !s.Has(c.pool[at].Item) {
			continue
		}
		needed := false
		for j, s := range c.rule.Shares {
			needed = needed || c.of[j] <= s.Least && s.Has(c.pool[other].Item)
		}
		if !needed {
			c.giveBack(other)
		}
	}
}
