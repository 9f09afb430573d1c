package synthetic

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

const (
	// Popularity falls with the rank r of an item as (r + rankShift)^-rankPower.
	rankPower = 1.2
	rankShift = 3

	// numSuccessors is how many likely successors an item has.
	numSuccessors = 4

	// maxCommunities is the most communities an item belongs to.
	maxCommunities = 3
)

// catalogue is the world that the users move in. It is read-only.
type catalogue struct {
	popular     alias       // items by popularity
	communities alias       // communities by the popularity of their items
	community   []community // each with at least one item
	successors  [][numSuccessors]int32
}

// community is a group of items, an item by its popularity.
type community struct {
	items []int32
	draw  alias // positions in items
}

// newCatalogue makes the catalogue of a seed. Item i of the output has no
// special rank: popularity is dealt out at random.
func newCatalogue(cfg Config) *catalogue {
	rng := rand.New(rand.NewPCG(mix(cfg.Seed), 'c'))
	// 133 communities for 17,770 items.
	c := &catalogue{community: make([]community, int(math.Sqrt(float64(cfg.Items))))}

	weight := make([]uint64, cfg.Items)
	main := make([]int32, cfg.Items) // main community of each item
	for rank, i := range rng.Perm(cfg.Items) {
		weight[i] = 1 + uint64(math.Pow(float64(rank+rankShift), -rankPower)*(1<<32))
		main[i] = int32(c.join(rng, int32(i), rank))
	}
	c.popular = newAlias(weight)

	total := make([]uint64, len(c.community))
	for g := range c.community {
		members := &c.community[g]
		w := make([]uint64, len(members.items))
		for k, i := range members.items {
			w[k] = weight[i]
			total[g] += weight[i]
		}
		members.draw = newAlias(w)
	}
	c.communities = newAlias(total)
	c.successors = c.chooseSuccessors(rng, main)
	return c
}

// join puts an item into its communities and returns the main one. The most
// popular items go round the communities, so that none stays empty.
func (c *catalogue) join(rng *rand.Rand, item int32, rank int) (main int) {
	n := len(c.community)
	main = rank
	if rank >= n {
		main = rng.IntN(n)
	}
	joined := [maxCommunities]int{main}
	count := 1
	for count < maxCommunities && rng.IntN(3) == 0 { // 1: 67 %, 2: 22 %, 3: 11 %
		joined[count] = rng.IntN(n)
		count++
	}
	for k, g := range joined[:count] {
		if k == 1 && g == joined[0] || k == 2 && (g == joined[0] || g == joined[1]) {
			continue
		}
		c.community[g].items = append(c.community[g].items, item)
	}
	return main
}

// chooseSuccessors draws the successors of each item from its main community:
// half of them by popularity and half evenly, so that rare items are followed
// up on too.
func (c *catalogue) chooseSuccessors(rng *rand.Rand, main []int32) [][numSuccessors]int32 {
	successors := make([][numSuccessors]int32, len(main))
	for i, g := range main {
		members := &c.community[g]
		for k := range successors[i] {
			position := rng.IntN(len(members.items))
			if k%2 == 0 {
				position = int(members.draw.pick(rng.Uint64()))
			}
			successors[i][k] = members.items[position]
		}
	}
	return successors
}

// alias draws numbers with given weights in constant time (Walker's alias
// method, after Vose, "A linear algorithm for generating random numbers with a
// given distribution", 1991).
type alias []aliasSlot

type aliasSlot struct {
	keep  uint64 // probability, of 2^64, of the number itself
	other int32  // the number otherwise
}

// newAlias makes the table for weights that add up to less than 2^58 and are
// fewer than 2^26; at least one of them must be positive.
func newAlias(weights []uint64) alias {
	n := uint64(len(weights))
	total := uint64(0)
	for _, w := range weights {
		total += w
	}
	// Scaled by n, the mean weight is total: an entry below it takes the
	// difference from an entry above it. left is (high, low) 128 bits wide.
	a := make(alias, n)
	left := make([][2]uint64, n)
	var small, large []int32
	for i, w := range weights {
		left[i][0], left[i][1] = bits.Mul64(w, n)
		if left[i][0] == 0 && left[i][1] < total {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		keep, _ := bits.Div64(left[s][1], 0, total)
		a[s] = aliasSlot{keep: keep, other: l}
		low, borrow := bits.Sub64(left[l][1], total-left[s][1], 0)
		left[l] = [2]uint64{left[l][0] - borrow, low}
		if left[l][0] == 0 && low < total {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	// The sums are exact, so every entry that is left has just the mean.
	for _, i := range append(small, large...) {
		a[i] = aliasSlot{keep: math.MaxUint64, other: i}
	}
	return a
}

// pick turns 64 random bits into a number.
func (a alias) pick(r uint64) int32 {
	slot, rest := bits.Mul64(r, uint64(len(a)))
	if rest < a[slot].keep {
		return int32(slot)
	}
	return a[slot].other
}
