package dataset

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"slices"
)

// Interactions holds every user's history: each item at most once, in time
// order, users one after the other.
type Interactions struct {
	Users, Items []string // ids, each in bytewise order

	Ptr    []int64   // len(Users)+1 offsets: user u owns entries Ptr[u] to Ptr[u+1]
	Item   []int32   // item indices
	Time   []int64   // seconds since 1970, nil if the data has none or only ordinals
	Weight []float32 // nil if the data has none

	// Repeats are the events that repeat an item of their user. There are none without times: then
	// nobody knows which of them are the newest.
	Repeats Repeats
}

// NumUsers returns the number of users.
func (d *Interactions) NumUsers() int { return len(d.Users) }

// NumItems returns the number of items.
func (d *Interactions) NumItems() int { return len(d.Items) }

// Len returns the number of interactions.
func (d *Interactions) Len() int { return len(d.Item) }

// Of returns the items of user u in time order. The slice belongs to d.
func (d *Interactions) Of(u int) []int32 { return d.Item[d.Ptr[u]:d.Ptr[u+1]] }

// Hash returns the SHA-256, in hexadecimal, of the interactions in a canonical
// form: it depends on ids, order, times and weights, but neither on repeats, nor on the format
// of the files they came from nor on the order of rows that does not matter.
func (d *Interactions) Hash() string {
	sum := sha256.New()
	w := bufio.NewWriterSize(sum, 64<<10)
	hashText(w, "gsimc interactions 1")
	for _, ids := range [][]string{d.Users, d.Items} {
		hashNumbers(w, int64(len(ids)))
		for _, id := range ids {
			hashText(w, id)
		}
	}
	hashNumbers(w, d.Ptr...)
	hashNumbers(w, d.Item...)
	hashNumbers(w, int64(len(d.Time)))
	hashNumbers(w, d.Time...)
	hashNumbers(w, int64(len(d.Weight)))
	hashNumbers(w, d.Weight...)
	_ = w.Flush()
	return hex.EncodeToString(sum.Sum(nil))
}

// hashNumbers feeds numbers, little-endian, to a hash, which cannot fail: a few at a time, as
// binary.Write copies them.
func hashNumbers[T int64 | int32 | float32](w io.Writer, numbers ...T) {
	for some := range slices.Chunk(numbers, 1<<12) {
		_ = binary.Write(w, binary.LittleEndian, some)
	}
}

// hashText feeds a string to a hash, after its length.
func hashText(w io.Writer, s string) {
	hashNumbers(w, int64(len(s)))
	_, _ = io.WriteString(w, s)
}

// Only returns a copy of the histories of some users, without repeats. The indices of the users
// must ascend. Items keep theirs.
func (d *Interactions) Only(users []int32) *Interactions {
	out := &Interactions{Items: d.Items, Ptr: make([]int64, 1, len(users)+1)}
	for _, u := range users {
		lo, hi := d.Ptr[u], d.Ptr[u+1]
		out.Users = append(out.Users, d.Users[u])
		out.Item = append(out.Item, d.Item[lo:hi]...)
		if d.Time != nil {
			out.Time = append(out.Time, d.Time[lo:hi]...)
		}
		if d.Weight != nil {
			out.Weight = append(out.Weight, d.Weight[lo:hi]...)
		}
		out.Ptr = append(out.Ptr, int64(len(out.Item)))
	}
	return out
}

// Before returns a copy of the events before a point of time, which d must have. Users and items
// keep their indices, even without events.
func (d *Interactions) Before(t int64) *Interactions {
	out := &Interactions{Users: d.Users, Items: d.Items, Ptr: make([]int64, 1, len(d.Ptr))}
	for u := range d.Users {
		lo := d.Ptr[u]
		n, _ := slices.BinarySearch(d.Time[lo:d.Ptr[u+1]], t)
		hi := lo + int64(n)
		out.Item, out.Time = append(out.Item, d.Item[lo:hi]...), append(out.Time, d.Time[lo:hi]...)
		if d.Weight != nil {
			out.Weight = append(out.Weight, d.Weight[lo:hi]...)
		}
		out.Ptr = append(out.Ptr, int64(len(out.Item)))
	}
	for _, r := range d.Repeats {
		if r.Time < t {
			out.Repeats = append(out.Repeats, r)
		}
	}
	return out
}

// HoldOutLast takes the last event of each of the users away, in place, with the repeats after it,
// and returns the items of these events. users must ascend. Ids keep their indices, even the id of
// an item without events.
func (d *Interactions) HoldOutLast(users []int32) (items []int32) {
	items = make([]int32, 0, len(users))
	kept, from := int64(0), int64(0)
	for u := range d.Users {
		to := d.Ptr[u+1]
		held := len(items) < len(users) && int(users[len(items)]) == u && from < to
		for j := from; j < to; j++ {
			if held && j == to-1 {
				items = append(items, d.Item[j])
				break
			}
			d.move(kept, j, d.Item[j])
			kept++
		}
		from, d.Ptr[u+1] = to, kept
	}
	if len(items) < len(users) {
		panic("dataset: users without events, or not in ascending order")
	}
	d.truncate(kept)
	d.Repeats = slices.DeleteFunc(d.Repeats, func(r Row) bool {
		return int64(r.Place) > d.Ptr[r.User+1]-d.Ptr[r.User]
	})
	return items
}
