package catalogue

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/gsimc/gsimc/store"
)

// A Range lets the items pass whose number of a name is from Least to Most and, unless AnyOf is
// nil, one of these.
type Range struct {
	Name        string
	Least, Most float64
	AnyOf       []float64
}

// NewRange returns the range of the numbers above gt, from gte on, below lt, and up to lte; a bound
// that is nil does not count.
func NewRange(name string, gt, gte, lt, lte *float64, anyOf []float64) Range {
	r := Range{Name: name, Least: math.Inf(-1), Most: math.Inf(1)}
	if len(anyOf) > 0 {
		r.AnyOf = anyOf
	}
	if gt != nil {
		r.Least = max(r.Least, math.Nextafter(*gt, math.Inf(1)))
	}
	if gte != nil {
		r.Least = max(r.Least, *gte)
	}
	if lt != nil {
		r.Most = min(r.Most, math.Nextafter(*lt, math.Inf(-1)))
	}
	if lte != nil {
		r.Most = min(r.Most, *lte)
	}
	return r
}

// chunkSlots is the number of slots of a chunk: as many as a word has bits.
const chunkSlots = 64

// A column has the numbers of one name, as ordered, by slot.
type column struct {
	// A chunk is nil if no item of it has the number: one that few items have takes little.
	chunks []*chunk
	filled int // chunks that are not nil
	users  int // items with the number
}

// chunk holds numbers, or none.
type chunk [chunkSlots]uint64

// none stands for a number that an item does not have. It is below all others.
const none = 0

// ordered returns an integer for a number, in the order of numbers. 0 and −0 are one.
func ordered(x float64) uint64 {
	if x == 0 {
		x = 0 // not −0
	}
	b := math.Float64bits(x)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// get returns the number of a slot, which may be noRow, or none. c may be nil.
func (c *column) get(slot int32) uint64 {
	if chunk := c.chunk(int(slot / chunkSlots)); slot != noRow && chunk != nil {
		return chunk[slot%chunkSlots]
	}
	return none
}

// chunk returns a chunk, or nil. c may be nil.
func (c *column) chunk(at int) *chunk {
	if c == nil || at >= len(c.chunks) {
		return nil
	}
	return c.chunks[at]
}

// size is the number of items that have the number, and length that of chunks and of nil ones. c
// may be nil.
func (c *column) size() int {
	if c == nil {
		return 0
	}
	return c.users
}

func (c *column) length() int {
	if c == nil {
		return 0
	}
	return len(c.chunks)
}

// setNumbers gives the item of a slot, which has none, its numbers.
func (x *index) setNumbers(slot int32, numbers map[string]float64) {
	at := int(slot / chunkSlots)
	for name, number := range numbers {
		c := x.columns[name]
		if c == nil {
			c = new(column)
			x.columns[name] = c
		}
		for len(c.chunks) <= at {
			c.chunks = append(c.chunks, nil)
			x.places++
		}
		if c.chunks[at] == nil {
			c.chunks[at] = new(chunk)
			c.filled++
			x.chunks++
		}
		c.chunks[at][slot%chunkSlots] = ordered(number)
		c.users++
	}
}

// clearNumbers takes the numbers of a slot away.
func (x *index) clearNumbers(slot int32) {
	at := int(slot / chunkSlots)
	for name, c := range x.columns {
		if c.get(slot) == none {
			continue
		}
		if c.chunks[at][slot%chunkSlots] = none; *c.chunks[at] == (chunk{}) {
			c.chunks[at] = nil
			c.filled--
			x.chunks--
		}
		if c.users--; c.users == 0 {
			delete(x.columns, name)
			x.places -= len(c.chunks)
		}
	}
}

// hasNumbers tells whether the numbers of a slot are the given ones.
func (x *index) hasNumbers(slot int32, numbers map[string]float64) bool {
	n := 0
	for name, c := range x.columns {
		if have := c.get(slot); have != none {
			want, there := numbers[name]
			if !there || have != ordered(want) {
				return false
			}
			n++
		}
	}
	return n == len(numbers)
}

// A condition is all that a filter says of the numbers of one name.
type condition struct {
	name   string
	column *column // nil: no item has the number
	spans  []span  // rising: an item passes if its number is in one of them
}

// A span is the numbers from least to most.
type span struct{ least, most uint64 }

// conditions returns those of a filter, the one that fewest items can pass first.
func (x *index) conditions(f *Filter) (all []*condition) {
	byName := map[string]*Range{}
	for _, f := range f.all() {
		ranges := f.Ranges
		if f.Near != nil {
			near := f.Near.ranges()
			ranges = append(slices.Clip(ranges), near[:]...)
		}
		for _, r := range ranges {
			if and, met := byName[r.Name]; met {
				r = and.and(r)
			}
			byName[r.Name] = &r
		}
	}
	for name, r := range byName {
		all = append(all, r.condition(x.columns[name]))
	}
	slices.SortFunc(all, func(a, b *condition) int { return a.column.size() - b.column.size() })
	return all
}

// condition is what the range says of a column.
func (r *Range) condition(of *column) *condition {
	c := &condition{name: r.Name, column: of}
	all := span{ordered(r.Least), ordered(r.Most)}
	if r.AnyOf == nil && all.least <= all.most {
		c.spans = []span{all}
	}
	for _, number := range r.AnyOf {
		if at := ordered(number); all.least <= at && at <= all.most {
			c.spans = append(c.spans, span{at, at})
		}
	}
	slices.SortFunc(c.spans, func(a, b span) int { return cmp.Compare(a.least, b.least) })
	return c
}

// and is the range of what passes both. Their names are one.
func (r *Range) and(other Range) Range {
	both := Range{r.Name, max(r.Least, other.Least), min(r.Most, other.Most), r.AnyOf}
	if r.AnyOf == nil {
		both.AnyOf = other.AnyOf
	} else if other.AnyOf != nil {
		both.AnyOf = slices.DeleteFunc(slices.Clone(r.AnyOf),
			func(x float64) bool { return !slices.Contains(other.AnyOf, x) })
	}
	return both
}

// passes tells whether a number passes.
func (c *condition) passes(number uint64) bool {
	i := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].most >= number })
	return i < len(c.spans) && c.spans[i].least <= number // none is below all of them
}

// within returns those of some rows, nil: of all, that pass all conditions.
func (v *View) within(rows *roaring.Bitmap, conditions []*condition) *roaring.Bitmap {
	if rows != nil && rows.GetCardinality() <= uint64(len(v.slots)/amongDivisor) {
		some := roaring.New()
		for it := rows.Iterator(); it.HasNext(); {
			row := it.Next()
			if !slices.ContainsFunc(conditions, func(c *condition) bool {
				return !c.passes(c.column.get(v.slots[row]))
			}) {
				some.Add(row)
			}
		}
		return some
	}
	set := make([]uint64, wordsOf(len(v.slots)))
	if rows == nil {
		for w := range set {
			set[w] = math.MaxUint64
		}
	} else {
		rows.WriteDenseTo(set)
	}
	var runs []run
	for _, c := range conditions {
		switch b := v.bins[c.name]; {
		case b == nil || c.column == nil:
			v.scan(set, c)
		case len(c.spans) == 1:
			runs = append(runs, b.run(c.spans[0]))
		default:
			b.any(set, c.spans)
		}
	}
	for i := range runs {
		runs[i].narrow(set)
	}
	for i := range runs {
		runs[i].settle(set)
	}
	return roaring.FromDense(set, false) // the set is of nobody else
}

// scan keeps those of a set of rows that pass a condition.
func (v *View) scan(set []uint64, c *condition) {
	passing := make([]uint64, len(set))
	for at := range c.column.length() {
		chunk := c.column.chunk(at)
		if chunk == nil {
			continue
		}
		for i, number := range chunk {
			if number == none || !c.passes(number) {
				continue
			}
			// a closed view does not grow
			if slot := at*chunkSlots + i; slot < len(v.rows) && v.rows[slot] != noRow {
				passing[v.rows[slot]/64] |= 1 << (v.rows[slot] % 64)
			}
		}
	}
	for w := range set {
		set[w] &= passing[w]
	}
}

// columnsBytes is what the columns take.
func (x *index) columnsBytes() int64 {
	return nameBytes*int64(len(x.columns)) + chunkBytes*int64(x.chunks) + 8*int64(x.places)
}

// columnsAfter returns how many columns there are after a write of items, and by how much they take
// more at most: what goes is not counted.
func (x *index) columnsAfter(items []store.Item) (columns int, growth int64) {
	type place struct {
		name string
		at   int // chunk
	}
	users, fresh, lengths := map[string]int{}, map[place]bool{}, map[string]int{}
	free, next := len(x.free), int32(len(x.entries))
	for i := range items {
		slot, found := x.slots[items[i].ID]
		switch {
		case found:
			for name, c := range x.columns {
				if c.get(slot) != none {
					users[name]--
				}
			}
		case free > 0:
			free--
			slot = x.free[free]
		default:
			slot = next
			next++
		}
		for name := range items[i].Numbers {
			users[name]++
			c, p := x.columns[name], place{name, int(slot / chunkSlots)}
			if c.chunk(p.at) == nil && !fresh[p] {
				fresh[p] = true
				growth += chunkBytes
			}
			length := max(lengths[name], c.length())
			lengths[name] = max(length, p.at+1)
			growth += 8 * int64(lengths[name]-length)
		}
	}
	columns = len(x.columns)
	for name, more := range users {
		switch c := x.columns[name]; {
		case c == nil && more > 0:
			columns++
			growth += nameBytes
		case c != nil && c.users+more == 0:
			columns--
		}
	}
	return columns, growth
}
