package catalogue

import (
	"slices"
	"sort"
)

const (
	// base is the number of values of a digit of a bin, and digits the number of its digits.
	base, digits = 16, 3
	// maxEdges bounds the edges of a column, so that a bin and the one after it have three digits.
	maxEdges = base*base*base - 2
	// sampledNumbers is about how many numbers of a column its edges are chosen by.
	sampledNumbers = 1 << 16
	// leastMembers is about the least number of numbers of a bin.
	leastMembers = 8
	// lineWords is the number of words of a line of the processor's cache, and lineRows that of the
	// rows of a line.
	lineWords, lineRows = 8, 64 * lineWords
)

// bins are those of the numbers of a column, for the rows of a view. About as many numbers are in
// each bin, and one that very many items have has a bin of its own. So a range is a run of bins:
// all of their numbers pass, but for those of the first and the last bin, which are looked at.
//
// The rows of a run of bins are a few operations on sets: there is one for each value of each digit
// of a bin, of the rows whose digit is below it. It is the bitmap index with range encoding of Chan
// and Ioannidis, Bitmap Index Design and Evaluation, SIGMOD 1998.
type bins struct {
	edges []uint64 // rising; the number of a bin is that of the edges up to its numbers
	// by digit, the highest first, and by value: rows as bits. No row has a digit below 0, and all
	// that have a number have one below base.
	below [digits][base + 1][]line
	// by bin: its rows, and others that were in it, some several times
	members [][]int32
	chosen  int // numbers of the rows when the edges were chosen
	moved   int // numbers that came since then
}

// A line is one of the processor's cache.
type line [lineWords]uint64

// newBins are the bins of a column for the slots of rows.
func newBins(of *column, slots []int32) *bins {
	b := &bins{}
	var numbers []uint64
	for _, slot := range slots {
		if number := of.get(slot); number != none {
			numbers = append(numbers, number)
		}
	}
	b.chosen = len(numbers)
	b.edges = edgesOf(sampled(numbers))
	for at := range b.below {
		for value := range b.below[at] {
			b.below[at][value] = make([]line, linesOf(len(slots)))
		}
	}
	binOf, sizes := make([]int, len(slots)), make([]int, len(b.edges)+1)
	for row, slot := range slots {
		number := of.get(slot)
		if binOf[row] = -1; number == none {
			continue
		}
		binOf[row] = b.of(number)
		sizes[binOf[row]]++
		for at, value := range digitsOf(binOf[row]) {
			b.below[at][value+1][row/lineRows][row%lineRows/64] |= 1 << (row % 64)
		}
	}
	for _, sets := range b.below {
		for value, smaller := range sets[:base] {
			for i, rows := range smaller {
				for w, x := range rows {
					sets[value+1][i][w] |= x
				}
			}
		}
	}
	b.gather(binOf, sizes)
	return b
}

// gather makes the members of the bins of rows, which are -1 for a row without a number.
func (b *bins) gather(binOf, sizes []int) {
	rows := make([]int32, len(binOf))
	b.members = make([][]int32, len(sizes))
	for bin, size := range sizes {
		b.members[bin], rows = rows[:0:size], rows[size:]
	}
	for row, bin := range binOf {
		if bin >= 0 {
			b.members[bin] = append(b.members[bin], int32(row))
		}
	}
}

// linesOf is the number of lines of n rows.
func linesOf(n int) int { return (n + lineRows - 1) / lineRows }

// digitsOf are the digits of a bin, the highest first.
func digitsOf(bin int) [digits]int {
	return [...]int{bin / (base * base), bin / base % base, bin % base}
}

// sampled are every so manyth of some numbers, in their place.
func sampled(numbers []uint64) []uint64 {
	every, n := 1+len(numbers)/sampledNumbers, 0
	for at := 0; at < len(numbers); at += every {
		numbers[n] = numbers[at]
		n++
	}
	return numbers[:n]
}

// edgesOf are the quantiles of a sample of numbers. After one that takes several quantiles comes
// the next larger number, so that its bin is its own.
func edgesOf(sample []uint64) (edges []uint64) {
	slices.Sort(sample)
	quantiles := min((len(sample)+leastMembers-1)/leastMembers, maxEdges)
	for i := range quantiles {
		at := sample[len(sample)*i/quantiles]
		if last := len(edges) - 1; last < 0 || edges[last] < at {
			edges = append(edges, at)
		} else if edges[last] == at {
			edges = append(edges, at+1)
		}
	}
	return edges
}

// of is the bin of a number.
func (b *bins) of(number uint64) int {
	return sort.Search(len(b.edges), func(i int) bool { return b.edges[i] > number })
}

// begins tells whether a number is the least that its bin can have.
func (b *bins) begins(number uint64) bool {
	_, is := slices.BinarySearch(b.edges, number)
	return is
}

// set notes the number of a row that has none.
func (b *bins) set(row int32, number uint64) {
	bin := b.of(number)
	for at, value := range digitsOf(bin) {
		for _, rows := range b.below[at][value+1:] {
			rows[row/lineRows][row%lineRows/64] |= 1 << (row % 64)
		}
	}
	b.members[bin] = append(b.members[bin], row)
	b.moved++
}

// clear notes that a row has no number.
func (b *bins) clear(row int32) {
	for _, sets := range b.below {
		for _, rows := range sets {
			rows[row/lineRows][row%lineRows/64] &^= 1 << (row % 64)
		}
	}
}

// run stores in dst the rows of a set whose bins are from first to last. dst may be the set.
func (b *bins) run(dst, set []uint64, first, last int) {
	from, to := b.upTo(first), b.upTo(last+1)
	for i := range from.less {
		rows, in := (*line)(set[i*lineWords:]), (*line)(dst[i*lineWords:])
		if *rows == (line{}) {
			*in = line{}
			continue
		}
		less, most, less2, most2, less3 := from.at(i)
		below, upTo, below2, upTo2, below3 := to.at(i)
		for w, x := range rows {
			in[w] = x & (below[w] | upTo[w]&(below2[w]|upTo2[w]&below3[w])) &^
				(less[w] | most[w]&(less2[w]|most2[w]&less3[w]))
		}
	}
}

// smaller are the sets that have the rows of the bins below one: those of less, and those of most
// that are also in less2, or in most2 and in less3.
type smaller struct{ less, most, less2, most2, less3 []line }

func (b *bins) upTo(bin int) *smaller {
	d := digitsOf(bin)
	return &smaller{b.below[0][d[0]], b.below[0][d[0]+1], b.below[1][d[1]], b.below[1][d[1]+1],
		b.below[2][d[2]]}
}

func (s *smaller) at(i int) (less, most, less2, most2, less3 *line) {
	return &s.less[i], &s.most[i], &s.less2[i], &s.most2[i], &s.less3[i]
}

// narrow keeps those of a set of rows that a condition, as far as the bins tell, may let pass.
func (b *bins) narrow(set []uint64, c *condition) {
	if len(c.spans) == 1 {
		b.run(set, set, b.of(c.spans[0].least), b.of(c.spans[0].most))
		return
	}
	all, one := make([]uint64, len(set)), make([]uint64, len(set))
	for _, s := range c.spans {
		b.run(one, set, b.of(s.least), b.of(s.most))
		for w, rows := range one {
			all[w] |= rows
		}
	}
	copy(set, all)
}

// settle takes those rows out of a narrowed set whose number does not pass. Only those of bins that
// have other numbers too are looked at.
func (b *bins) settle(set []uint64, c *condition, slots []int32) {
	checked := -1 // the last bin, as spans rise
	for _, s := range c.spans {
		first, last := b.of(s.least), b.of(s.most)
		begins, ends := b.begins(s.least), b.begins(s.most+1)
		if first > checked && (!begins || first == last && !ends) {
			c.check(set, b.members[first], slots)
			checked = first
		}
		if last > checked && !ends {
			c.check(set, b.members[last], slots)
			checked = last
		}
	}
}

// check takes those of some rows out of a set whose number does not pass.
func (c *condition) check(set []uint64, rows, slots []int32) {
	for _, row := range rows {
		if set[row/64]>>(row%64)&1 != 0 { // to read a number is dear
			set[row/64] &^= c.fails(c.column.get(slots[row])) << (row % 64)
		}
	}
}

// A column has bins for n rows if its chunks that are not nil have at least n/binnedShare slots. So
// the memory of bins is in proportion to that of the numbers. A scan of any other column reads few
// numbers.
const binnedShare = 2

// movedShare is how many numbers of rows there are for one that came after the bins: they may all
// be in one.
const movedShare = 4

// rebin makes the bins anew of columns that have grown, or where numbers have been replaced, since
// theirs were made. Lists do not wait for it. Requires build.
func (c *Catalogue) rebin() {
	c.mu.RLock()
	views := slices.Clone(c.views)
	c.mu.RUnlock()
	for _, v := range views {
		v.rebin()
	}
}

func (v *View) rebin() {
	columns := v.catalogue.items.columns
	for name := range v.bins {
		if of := columns[name]; of == nil || !of.fills(len(v.slots)/2) {
			v.setBins(name, nil)
		}
	}
	for name, of := range columns {
		b := v.bins[name]
		if b == nil && of.fills(len(v.slots)) || b != nil && b.moved > b.chosen/movedShare {
			v.setBins(name, newBins(of, v.slots))
		}
	}
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
}
