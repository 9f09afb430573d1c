package catalogue

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/gsimc/gsimc/internal/num/prefetch"
)

const (
	// parts is the number of parts of a column.
	parts = 64
	// step divides the number of words of sets.
	step = 4
	// begunWords is the number of words of a set after which the processor foresees the others.
	begunWords = 64
)

// bins are the rows of a view that have a number of a column, sorted by it, in parts of as many
// rows. There is a set for each part, of the rows of all parts before it. So a range is what two
// sets differ by, without the rows of its first part that come before it, and those of its last
// part that come behind it.
//
// It is the bitmap index with range encoding of Chan and Ioannidis, Bitmap Index Design and
// Evaluation, SIGMOD 1998, with sorted rows in place of further digits: most of the time of a range
// is that of reading sets from memory.
type bins struct {
	// As they were when the bins were made, by row where numbers are equal. A row that has lost its
	// number since then is ^row.
	rows    []int32
	numbers []uint64
	size    int                 // rows of a part
	firsts  []uint64            // by part: its first number; the last parts may be empty
	before  [parts + 1][]uint64 // by part, and for the end of the last one: rows as bits
	late    [parts][]numbered   // by part: the rows that came to it since then
	moved   int                 // how many came
}

// numbered is a row with its number.
type numbered struct {
	number uint64
	row    int32
}

func (n numbered) compare(other numbered) int {
	if n.number == other.number {
		return cmp.Compare(n.row, other.row)
	}
	return cmp.Compare(n.number, other.number)
}

// newBins are the bins of a column for the slots of rows.
func newBins(of *column, slots []int32) *bins {
	var all []numbered
	for row, slot := range slots {
		if number := of.get(slot); number != none {
			all = append(all, numbered{number, int32(row)})
		}
	}
	slices.SortFunc(all, numbered.compare)
	b := &bins{rows: make([]int32, len(all)), numbers: make([]uint64, len(all)),
		size: len(all)/parts + 1}
	for at, n := range all {
		b.rows[at], b.numbers[at] = n.row, n.number
		if at%b.size == 0 {
			b.firsts = append(b.firsts, n.number)
		}
	}
	b.before[0] = make([]uint64, wordsOf(len(slots)))
	for part := range parts {
		set := slices.Clone(b.before[part])
		for _, row := range b.between(part*b.size, (part+1)*b.size) {
			set[row/64] |= 1 << (row % 64)
		}
		b.before[part+1] = set
	}
	return b
}

// between are the rows from one place to before another one. Places may be behind the end.
func (b *bins) between(from, to int) []int32 {
	to = min(to, len(b.rows))
	return b.rows[min(from, to):to]
}

// wordsOf is the number of words of a set of n rows.
func wordsOf(n int) int { return (n + 64*step - 1) / (64 * step) * step }

// find returns the place of the first of the rows whose number is not below one, and the part that
// has it or ends before it. A row that comes with the number goes to that part.
func (b *bins) find(number uint64) (part, at int) {
	part = max(0, sort.Search(len(b.firsts), func(i int) bool { return b.firsts[i] >= number })-1)
	some := b.numbers[part*b.size : min((part+1)*b.size, len(b.numbers))]
	return part, part*b.size + sort.Search(len(some), func(i int) bool { return some[i] >= number })
}

// placeOf is the place of a row whose number was there when the bins were made, and else the part
// to which it came or comes.
func (b *bins) placeOf(n numbered) (part, at int, found bool) {
	part, at = b.find(n.number)
	if at == len(b.numbers) || b.numbers[at] != n.number {
		return part, at, false
	}
	_, next := b.find(n.number + 1)
	i, found := slices.BinarySearchFunc(b.rows[at:next], n.row, func(have, row int32) int {
		return cmp.Compare(max(have, ^have), row)
	})
	if found {
		part = (at + i) / b.size
	}
	return part, at + i, found
}

// set notes the number of a row that has none.
func (b *bins) set(n numbered) {
	part, at, found := b.placeOf(n)
	if found {
		b.rows[at] = n.row
	} else {
		b.late[part] = append(b.late[part], n)
		b.moved++
	}
	for _, rows := range b.before[part+1:] {
		rows[n.row/64] |= 1 << (n.row % 64)
	}
}

// clear notes that a row has its number no more.
func (b *bins) clear(n numbered) {
	part, at, found := b.placeOf(n)
	if found {
		b.rows[at] = ^n.row
	} else {
		late := b.late[part]
		at, last := slices.Index(late, n), len(late)-1
		late[at], b.late[part] = late[last], late[:last]
	}
	for _, rows := range b.before[part+1:] {
		rows[n.row/64] &^= 1 << (n.row % 64)
	}
}

// A run is what bins have of a span.
type run struct {
	*bins
	span
	from, to    int // its first and last part
	first, next int // its first place, and the one behind it
}

func (b *bins) run(s span) run {
	r := run{bins: b, span: s}
	r.from, r.first = b.find(s.least)
	r.to, r.next = b.find(s.most + 1)
	for end, rows := range r.outside() { // for settle
		prefetch.Slice(rows)
		prefetch.Slice(r.came()[end])
	}
	for _, set := range [...][]uint64{r.before[r.from], r.before[r.to+1]} { // for narrow
		prefetch.Slice(set[:min(len(set), begunWords)])
	}
	return r
}

// outside are the rows of the first and the last part that are not in the span.
func (r *run) outside() [2][]int32 {
	return [...][]int32{r.between(r.from*r.size, r.first), r.between(r.next, (r.to+1)*r.size)}
}

// came are the rows that came to the first part since the bins were made, and to the last one if it
// is another.
func (r *run) came() (came [2][]numbered) {
	if came[0] = r.late[r.from]; r.to != r.from {
		came[1] = r.late[r.to]
	}
	return came
}

// narrow keeps those of a set of rows that are in the parts of a run.
func (r *run) narrow(set []uint64) {
	before, upTo := r.before[r.from], r.before[r.to+1]
	for len(set) >= step && len(before) >= step && len(upTo) >= step {
		set[0] &= upTo[0] &^ before[0]
		set[1] &= upTo[1] &^ before[1]
		set[2] &= upTo[2] &^ before[2]
		set[3] &= upTo[3] &^ before[3]
		set, before, upTo = set[step:], before[step:], upTo[step:]
	}
}

// settle takes those rows of the parts of a run out of a set whose number is not in its span.
func (r *run) settle(set []uint64) {
	for _, rows := range r.outside() {
		for _, row := range rows {
			if row >= 0 {
				set[row/64] &^= 1 << (row % 64)
			}
		}
	}
	for _, late := range r.came() {
		for _, n := range late {
			set[n.row/64] &^= r.misses(n.number) << (n.row % 64)
		}
	}
}

// misses is 1 if a number is not in the span, and 0 if it is, without branches that would be
// predicted badly.
func (s span) misses(number uint64) uint64 {
	_, beyond := bits.Sub64(s.most-s.least, number-s.least, 0)
	return beyond
}

// any keeps those of a set of rows whose number is in one of some spans.
func (b *bins) any(set []uint64, spans []span) {
	all := make([]uint64, len(set))
	for _, s := range spans {
		one, r := slices.Clone(set), b.run(s)
		r.narrow(one)
		r.settle(one)
		for w, rows := range one {
			all[w] |= rows
		}
	}
	copy(set, all)
}

// A column has bins for n rows if its chunks that are not nil have at least n/binnedShare slots. So
// the memory of bins is in proportion to that of the numbers. A scan of any other column reads few
// numbers.
const binnedShare = 2

// Bins are made anew when more numbers have come than one for movedShare rows, or more than
// lateShare for each row of a part to one part: a range looks at each that came to its first or its
// last part. Up to lateRows are looked at so fast that a few rows are not worth new bins.
const (
	movedShare = 4
	lateShare  = 4
	lateRows   = 1000
)

// due is above 1 if bins are to be made anew.
func (b *bins) due() float64 {
	longest := 0
	for part := range b.late {
		longest = max(longest, len(b.late[part]))
	}
	return max(float64(b.moved)/float64(max(len(b.rows)/movedShare, lateRows)),
		float64(longest)/float64(lateShare*b.size+lateRows))
}

// rebin makes the bins anew of a column of each view that has grown, or where numbers have been
// replaced, since its were made. Lists do not wait for it. Requires build.
func (c *Catalogue) rebin() {
	for _, v := range c.opened() {
		v.rebin()
	}
}

// opened are the views of now.
func (c *Catalogue) opened() []*View {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.views)
}

// rebin takes the bins of columns that have lost most numbers, and makes those of the one column
// that needs them most, so that no write waits for all: others follow at later writes, and by
// [Catalogue.Watch]. It tells whether there was one.
func (v *View) rebin() bool {
	columns := v.catalogue.items.columns
	for name := range v.bins {
		if of := columns[name]; of == nil || !of.fills(len(v.slots)/2) {
			v.setBins(name, nil)
		}
	}
	neediest, most := "", 1.
	for name, of := range columns {
		due := 0.
		if b := v.bins[name]; b != nil {
			due = b.due()
		} else if of.fills(len(v.slots)) {
			due = math.Inf(1)
		}
		if due > most {
			neediest, most = name, due
		}
	}
	if most > 1 {
		v.setBins(neediest, newBins(columns[neediest], v.slots))
	}
	return most > 1
}

// fills tells whether a column is to have bins for n rows.
func (c *column) fills(n int) bool { return binnedShare*chunkSlots*c.filled >= n }

// setBins gives a column bins, nil: none.
func (v *View) setBins(name string, b *bins) {
	v.catalogue.mu.Lock()
	defer v.catalogue.mu.Unlock()
	if b == nil {
		delete(v.bins, name)
	} else {
		v.bins[name] = b
	}
	v.catalogue.note()
}

// binsSize is what the bins of the view take, with the rooms that their slices keep free.
func (v *View) binsSize() (n int64) {
	for _, b := range v.bins {
		n += 12*int64(len(b.rows)) + 9*int64(len(b.before)*len(b.before[0])) + 32*int64(b.moved)
	}
	return n
}
