package local

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/kalman"
)

const (
	// MaxGap is the largest distance in events at which an item counts as a successor.
	MaxGap = 10

	gapFade     = 0.75 // ρ
	degreeShift = 3    // added to degrees before their powers
)

// Successions counts how closely items follow each other in histories: F_ij and F_ji of the
// package comment, for the items j that are next to item i most. It is safe for concurrent use.
type Successions struct {
	n       int
	degrees []int64
	ptr     []int64 // row i is [ptr[i], ptr[i+1])
	pairs   []pair
}

// pair is an entry of row i.
type pair struct {
	item          int32   // j
	after, before float32 // F_ij, F_ji
}

// The neighbours that Successions keeps, for each that a row of the graph may have. They are the
// strongest by constants in the middle of those that Choose tries.
const (
	spareNeighbours = 2
	middleBackward  = 0.5
	middleExponent  = 0.3
)

// Count counts the successions in the histories of training users over the items 0 to n−1 with the
// given degrees, and keeps spareNeighbours·neighbours items for each. No history is kept. The
// memory is 8 bytes an event while it counts. There may be 2³² events and users. The time is
// proportional to 2·MaxGap·events.
func Count(
	n int, degrees []int64, histories iter.Seq[kalman.History], neighbours int,
) *Successions {
	if len(degrees) != n {
		panic(fmt.Sprintf("local: %d degrees of %d items", len(degrees), n))
	}
	s := &Successions{n: n, degrees: degrees, ptr: make([]int64, n+1)}
	e := indexEvents(n, histories)
	weights := gapWeights()
	keep := spareNeighbours * neighbours
	damp := powers(degrees, middleExponent)
	rows := make([][]pair, n)
	parallel.TasksWith(n, func() func(int) {
		c := &counter{events: e, weights: weights, sums: make([]near, n), damp: damp}
		return func(i int) { rows[i] = c.row(int32(i), keep) }
	})
	for i, row := range rows {
		s.ptr[i+1] = s.ptr[i] + int64(len(row))
	}
	s.pairs = make([]pair, 0, s.ptr[n])
	for i, row := range rows {
		s.pairs = append(s.pairs, row...)
		rows[i] = nil
	}
	return s
}

// NewSuccessions returns counts that another program has made as [Count] makes them: row i has the
// items item[ptr[i]:ptr[i+1]], ascending, with F_ij in after and F_ji in before. It is an error if
// they are not that, or if a row has more items than Count keeps for neighbours. It keeps degrees.
// The lengths of degrees and ptr, and of item, after and before, must fit.
func NewSuccessions(
	degrees []int64, ptr []int64, item []int32, after, before []float32, neighbours int,
) (*Successions, error) {
	n := len(degrees)
	if len(ptr) != n+1 || len(after) != len(item) || len(before) != len(item) {
		panic(fmt.Sprintf("local: %d degrees, %d offsets, %d items and %d and %d counts", n,
			len(ptr), len(item), len(after), len(before)))
	}
	if ptr[0] != 0 || ptr[n] != int64(len(item)) {
		return nil, fmt.Errorf("the rows of the successions run from %d to %d, want 0 to the %d "+
			"pairs", ptr[0], ptr[n], len(item))
	}
	s := &Successions{n: n, degrees: degrees, ptr: ptr, pairs: make([]pair, len(item))}
	for i := range n {
		lo, hi := ptr[i], ptr[i+1]
		if lo > hi || hi > int64(len(item)) || hi-lo > int64(spareNeighbours*neighbours) {
			return nil, fmt.Errorf("row %d of the successions has the places %d to %d, want 0 to "+
				"%d of them", i, lo, hi, spareNeighbours*neighbours)
		}
		for at := lo; at < hi; at++ {
			j, p := item[at], pair{item[at], after[at], before[at]}
			if j < 0 || int(j) >= n || int(j) == i || at > lo && j <= item[at-1] {
				return nil, fmt.Errorf("row %d of the successions has item %d at place %d, want "+
					"other items from 0 to %d, ascending", i, j, at-lo, n-1)
			}
			if !(p.after >= 0 && p.before >= 0 && p.after+p.before > 0 &&
				p.after+p.before <= math.MaxFloat32) {
				return nil, fmt.Errorf("row %d of the successions counts %v and %v for item %d, "+
					"want finite numbers, one of them above 0", i, p.after, p.before, j)
			}
			s.pairs[at] = p
		}
	}
	return s, nil
}

// events holds the items of all histories, one history after the other with a gap of -1 between
// them and MaxGap of them at the ends, and the places of each item.
type events struct {
	item  []int32
	ptr   []int64 // item i stands at places[ptr[i]:ptr[i+1]]
	place []uint32
}

func indexEvents(n int, histories iter.Seq[kalman.History]) *events {
	size := 2 * MaxGap
	for h := range histories {
		if len(h) >= 2 {
			size += len(h) + 1
		}
	}
	if size > math.MaxUint32 {
		panic(fmt.Sprintf("local: %d events, more than %d", size, uint32(math.MaxUint32)))
	}
	item := slices.Grow(slices.Repeat([]int32{-1}, MaxGap), size-MaxGap)
	for h := range histories {
		if len(h) < 2 {
			continue
		}
		for _, x := range h {
			item = append(item, x.Item)
		}
		item = append(item, -1)
	}
	item = append(item, slices.Repeat([]int32{-1}, MaxGap)...)
	e := &events{item: item, ptr: make([]int64, n+1)}
	e.find()
	return e
}

// find finds the places of each item.
func (e *events) find() {
	const parts = 8 // of the items: one writes to so few lists that their ends stay in the caches
	for _, i := range e.item {
		if i >= 0 {
			e.ptr[i+1]++
		}
	}
	n := len(e.ptr) - 1
	for i := range n {
		e.ptr[i+1] += e.ptr[i]
	}
	e.place = make([]uint32, e.ptr[n])
	parallel.Strips(n, n/parts+1, func(lo, hi int) {
		next := slices.Clone(e.ptr[lo:hi])
		for at, i := range e.item {
			if i := int(i) - lo; i >= 0 && i < len(next) {
				e.place[next[i]] = uint32(at)
				next[i]++
			}
		}
	})
}

// counter counts one row at a time.
type counter struct {
	*events
	weights [MaxGap + 1]float32
	damp    []float64
	sums    []near // n, zero between rows
	touched []int32
	windows [32]window // of some places of the item
	entries []pair     // of the row

	strength, scratch []float64 // of strongest
}

// near is an entry of a row that is being counted.
type near struct{ after, before float32 }

// window has the items around a place, which is in the middle.
type window [2*MaxGap + 1]int32

// row returns the keep strongest entries of row i, by item.
func (c *counter) row(i int32, keep int) []pair {
	places := c.place[c.ptr[i]:c.ptr[i+1]]
	add, collect := c.add, c.collect
	// A row of many places has most items. To read all sums then costs less than to note some.
	if 4*MaxGap*len(places) >= len(c.sums) {
		add, collect = c.addToAll, c.collectAll
	}
	for some := range slices.Chunk(places, len(c.windows)) {
		// The places are far from each other. Copies alone wait for the memory together.
		for p, at := range some {
			c.windows[p] = window(c.item[at-MaxGap:])
		}
		for p := range some {
			add(&c.windows[p])
		}
	}
	c.entries = c.entries[:0]
	collect(i)
	var kept []pair
	if len(c.entries) > keep {
		kept = c.strongest(c.entries, keep)
	} else {
		kept = slices.Clone(c.entries)
	}
	slices.SortFunc(kept, byItem)
	return kept
}

// collect makes entries of the touched sums but that of item i, and clears the sums.
func (c *counter) collect(i int32) {
	for _, j := range c.touched {
		if j != i {
			c.entries = append(c.entries, pair{j, c.sums[j].after, c.sums[j].before})
		}
		c.sums[j] = near{}
	}
	c.touched = c.touched[:0]
}

// collectAll is collect for sums that are not noted as touched.
func (c *counter) collectAll(i int32) {
	for j, s := range c.sums {
		if s != (near{}) && int32(j) != i {
			c.entries = append(c.entries, pair{int32(j), s.after, s.before})
		}
	}
	clear(c.sums)
}

func byItem(a, b pair) int { return cmp.Compare(a.item, b.item) }

// strongest returns the keep strongest of more entries, in no order; of equally strong ones those
// of the first items. Rows of a dense graph have nearly all items: they are not sorted.
func (c *counter) strongest(all []pair, keep int) []pair {
	c.strength = c.strength[:0]
	for _, p := range all {
		c.strength = append(c.strength,
			(float64(p.after)+middleBackward*float64(p.before))*c.damp[p.item])
	}
	c.scratch = append(c.scratch[:0], c.strength...)
	floor := stat.Nth(c.scratch, len(c.scratch)-keep)
	kept, tied := make([]pair, 0, keep), []pair(nil)
	for at, p := range all {
		switch s := c.strength[at]; {
		case s > floor:
			kept = append(kept, p)
		case s == floor:
			tied = append(tied, p)
		}
	}
	slices.SortFunc(tied, byItem)
	return append(kept, tied[:keep-len(kept)]...)
}

// add adds a place of the row's item.
func (c *counter) add(w *window) {
	for g := 1; g <= MaxGap && w[MaxGap+g] >= 0; g++ {
		c.at(w[MaxGap+g]).after += c.weights[g]
	}
	for g := 1; g <= MaxGap && w[MaxGap-g] >= 0; g++ {
		c.at(w[MaxGap-g]).before += c.weights[g]
	}
}

// at returns the sums of item j.
func (c *counter) at(j int32) *near {
	s := &c.sums[j]
	if *s == (near{}) {
		c.touched = append(c.touched, j)
	}
	return s
}

// addToAll is add without noting what it touches.
func (c *counter) addToAll(w *window) {
	for g := 1; g <= MaxGap && w[MaxGap+g] >= 0; g++ {
		c.sums[w[MaxGap+g]].after += c.weights[g]
	}
	for g := 1; g <= MaxGap && w[MaxGap-g] >= 0; g++ {
		c.sums[w[MaxGap-g]].before += c.weights[g]
	}
}

// gapWeights returns ρ^(g−1) for the gaps g = 1 … MaxGap.
func gapWeights() (weights [MaxGap + 1]float32) {
	for g := 1; g <= MaxGap; g++ {
		weights[g] = float32(math.Pow(gapFade, float64(g-1)))
	}
	return weights
}

// powers returns (d+3)^−exponent for all degrees.
func powers(degrees []int64, exponent float64) []float64 {
	out := make([]float64, len(degrees))
	for i, d := range degrees {
		out[i] = power(d, exponent)
	}
	return out
}

// power returns (d+3)^−exponent.
func power(degree int64, exponent float64) float64 {
	return math.Pow(float64(degree+degreeShift), -exponent)
}
