package dataset

import (
	"cmp"
	"errors"
	"runtime/debug"
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
)

// maxRows is the most rows that can be read: the permutation and the counts
// are int32.
const maxRows = 1<<31 - 1

var errTooManyRows = errors.New("more than 2147483647 rows: split the data or thin it out")

const (
	chunkShift = 16
	chunkRows  = 1 << chunkShift // rows in a chunk
	chunkMask  = chunkRows - 1
)

// column of values in chunks of a fixed size. It grows without ever holding
// the values twice, and can be given back chunk by chunk.
type chunked[T any] [][]T

func (c chunked[T]) at(i int32) *T { return &c[i>>chunkShift][i&chunkMask] }

// columns collects rows and turns them into Interactions. Bytes for each row:
//
//	collecting      user 4, item 4, time 8, (weight 4)                16 (20)
//	sorting         the same and a permutation 4                      20 (24)
//	permuting       the users are gone: Ptr says who owns what        16 (20)
//	flattening      the permutation's memory becomes Item; Time and
//	                Weight are copied one after the other             20 (24)
//
// so the peak is 20 bytes, or 24 with weights, and 2 more with event types. A row that repeats an
// item has 24 more from sorting on, and about as many again while these grow, if there are times.
// Memory that is no longer needed goes back to the operating system between the steps: the
// collector alone would let the process grow to twice the memory in use.
type columns struct {
	rows   int32
	user   chunked[int32]
	item   chunked[int32]
	time   chunked[int64]   // nil if the data has no times
	weight chunked[float32] // nil if the data has no weights
	kind   chunked[uint16]  // nil if types are not kept
}

// columnSet tells which optional columns are kept, and whether rows that repeat an item are.
type columnSet struct{ time, weight, kind, repeated bool }

// add appends a row. kept must not change.
func (c *columns) add(
	user, item int32, time int64, weight float32, kind uint16, kept columnSet,
) error {
	if c.rows == maxRows {
		return errTooManyRows
	}
	if c.rows&chunkMask == 0 {
		c.user = append(c.user, make([]int32, chunkRows))
		c.item = append(c.item, make([]int32, chunkRows))
		if kept.time {
			c.time = append(c.time, make([]int64, chunkRows))
		}
		if kept.weight {
			c.weight = append(c.weight, make([]float32, chunkRows))
		}
		if kept.kind {
			c.kind = append(c.kind, make([]uint16, chunkRows))
		}
	}
	i := c.rows
	*c.user.at(i), *c.item.at(i) = user, item
	if kept.time {
		*c.time.at(i) = time
	}
	if kept.weight {
		*c.weight.at(i) = weight
	}
	if kept.kind {
		*c.kind.at(i) = kind
	}
	c.rows++
	return nil
}

// interactions sorts the rows by user, time and order of arrival, drops rows that repeat an item of
// their user unless these are kept, and returns the rest and its kinds. users and items turn the
// numbers of the rows into indices. The columns are used up.
func (c *columns) interactions(
	users, items *index, repeated bool,
) (d *Interactions, kinds []uint16) {
	d = &Interactions{}
	var userRank, itemRank []int32
	d.Users, userRank = users.sorted()
	d.Items, itemRank = items.sorted()

	order := c.sort(d, userRank)
	if !repeated {
		c.dropRepeated(d, order)
	}
	c.user = nil
	c.release()

	permute(c.item, order)
	permute(c.time, order)
	permute(c.weight, order)
	permute(c.kind, order)
	d.Item = order[:d.Ptr[len(d.Users)]] // its memory serves for the items now
	for i := range d.Item {
		d.Item[i] = itemRank[*c.item.at(int32(i))]
	}
	for i := range d.Repeats {
		d.Repeats[i].Item = itemRank[d.Repeats[i].Item]
	}
	c.item = nil
	c.release()

	d.Time = flatten(&c.time, len(d.Item))
	c.release()
	d.Weight = flatten(&c.weight, len(d.Item))
	c.release()
	return d, flatten(&c.kind, len(d.Item))
}

// releaseRows is the number of rows from which on giving memory back is worth
// a garbage collection.
const releaseRows = 1 << 20

func (c *columns) release() {
	if c.rows >= releaseRows {
		debug.FreeOSMemory()
	}
}

// sort sets d.Ptr and returns the rows in the order of user index, time and
// arrival.
func (c *columns) sort(d *Interactions, userRank []int32) (order []int32) {
	d.Ptr = make([]int64, len(d.Users)+1)
	for i := range c.rows {
		d.Ptr[userRank[*c.user.at(i)]+1]++
	}
	for u := range d.Users {
		d.Ptr[u+1] += d.Ptr[u]
	}
	order = make([]int32, c.rows)
	for i := range c.rows {
		at := &d.Ptr[userRank[*c.user.at(i)]]
		order[*at] = i
		*at++
	}
	// Every offset has moved on to the next one: move them back.
	copy(d.Ptr[1:], d.Ptr)
	d.Ptr[0] = 0
	if c.time == nil {
		return order
	}
	byTime := func(a, b int32) int {
		if x := cmp.Compare(*c.time.at(a), *c.time.at(b)); x != 0 {
			return x
		}
		return cmp.Compare(a, b)
	}
	for u := range d.Users {
		history := order[d.Ptr[u]:d.Ptr[u+1]]
		if !slices.IsSortedFunc(history, byTime) {
			slices.SortFunc(history, byTime)
		}
	}
	return order
}

// dropRepeated moves the rows that repeat an item of their user to the end of
// order and takes them out of d.Ptr. With times they become d.Repeats, with the
// items of the columns.
func (c *columns) dropRepeated(d *Interactions, order []int32) {
	owner := make([]int32, len(d.Items)) // 1 + the user who had the item last
	kept, from := int64(0), int64(0)
	for u := range d.Users {
		to := d.Ptr[u+1]
		for j := from; j < to; j++ {
			last := &owner[*c.item.at(order[j])]
			if *last == int32(u)+1 {
				c.repeat(d, order[j], int32(u), int32(kept-d.Ptr[u]))
				continue
			}
			*last = int32(u) + 1
			order[kept], order[j] = order[j], order[kept]
			kept++
		}
		from, d.Ptr[u+1] = to, kept
	}
}

// repeat adds a row of user u, after a number of first places, to d.Repeats.
func (c *columns) repeat(d *Interactions, row, u, place int32) {
	if c.time == nil {
		return
	}
	r := Row{Time: *c.time.at(row), User: u, Place: place, Item: *c.item.at(row), Weight: 1}
	if c.weight != nil {
		r.Weight = *c.weight.at(row)
	}
	d.Repeats = append(d.Repeats, r)
}

// permute brings a column into the given order, in place, along the cycles of the permutation.
func permute[T any](c chunked[T], order []int32) {
	if c == nil {
		return
	}
	for start := range int32(len(order)) {
		if order[start] < 0 {
			continue // in place
		}
		first, i := *c.at(start), start
		for order[i] != start {
			next := order[i]
			*c.at(i) = *c.at(next)
			order[i] = ^next
			i = next
		}
		*c.at(i) = first
		order[i] = ^start
	}
	for i := range order {
		order[i] = ^order[i]
	}
}

// flatten returns the first n values of the chunks as one slice and gives the
// chunks up. No chunks give nil.
func flatten[T any](chunks *chunked[T], n int) []T {
	if *chunks == nil {
		return nil
	}
	flat := make([]T, n)
	parallel.Strips(n, chunkRows, func(lo, hi int) { // the first write to a page takes longest
		copy(flat[lo:hi], (*chunks)[lo>>chunkShift])
	})
	*chunks = nil
	return flat
}
