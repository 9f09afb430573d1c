package dataset

import (
	"errors"
	"slices"
)

// Histories are the histories of some users of an Interactions, in the same
// layout.
type Histories struct {
	User   []int32   // index into Interactions.Users, ascending
	Ptr    []int64   // len(User)+1 offsets
	Item   []int32   // index into Partition.Items
	Time   []int64   // seconds, nil if the data has none
	Weight []float32 // nil if the data has none

	// Hidden are the items that no list may have, see [Partition.Hide].
	Hidden []int32

	// Repeats are those of training users. Their User is a place in the field User here.
	Repeats Repeats
}

// Len returns the number of users.
func (h *Histories) Len() int { return len(h.User) }

// Of returns the items of the k-th user in time order. The slice belongs to h.
func (h *Histories) Of(k int) []int32 { return h.Item[h.Ptr[k]:h.Ptr[k+1]] }

// Times returns the times of the k-th user's events, nil if there are none.
func (h *Histories) Times(k int) []int64 {
	if h.Time == nil {
		return nil
	}
	return h.Time[h.Ptr[k]:h.Ptr[k+1]]
}

// Weights returns the weights of the k-th user's events, nil if there are none.
func (h *Histories) Weights(k int) []float32 {
	if h.Weight == nil {
		return nil
	}
	return h.Weight[h.Ptr[k]:h.Ptr[k+1]]
}

// Partition is data ready for training and evaluation.
type Partition struct {
	Items                   []string // ids of the items of the training users, in bytewise order
	Train, Validation, Test Histories
}

// minHeldOut is the fewest items of a user that can be evaluated: one to
// predict and one to predict it from.
const minHeldOut = 2

// Partition is [Interactions.PartitionInPlace] on a copy, for data that is needed afterwards.
func (d *Interactions) Partition(s Split) (*Partition, error) {
	c := *d
	c.Item, c.Time, c.Weight = slices.Clone(d.Item), slices.Clone(d.Time), slices.Clone(d.Weight)
	c.Repeats = slices.Clone(d.Repeats)
	return c.PartitionInPlace(s)
}

// PartitionInPlace divides the histories by the roles of their users. Items that no training user
// has are dropped everywhere: a model cannot know them. Validation and test users
// with fewer than two items left are dropped too, so the lengths of Validation
// and Test are the numbers of users that are evaluated; Split.Count gives the
// numbers before. A split without training users is an error.
//
// The memory of the events becomes that of the training histories, so that they
// are never there twice. Afterwards d has its ids, but no events.
func (d *Interactions) PartitionInPlace(s Split) (*Partition, error) {
	mustMatch(d, s)
	if s.Count(Train) == 0 {
		return nil, errors.New("the split has no training users, so nothing can be learned: " +
			"give at least one user the role train")
	}
	p := &Partition{}
	newItem := make([]int32, len(d.Items)) // index into p.Items, -1: dropped
	for i := range newItem {
		newItem[i] = -1
	}
	for u, role := range s {
		if role == Train {
			for _, i := range d.Of(u) {
				newItem[i] = 0
			}
		}
	}
	for i, id := range d.Items {
		if newItem[i] == 0 {
			newItem[i] = int32(len(p.Items))
			p.Items = append(p.Items, id)
		}
	}
	p.Validation = d.histories(s, Validation, newItem, minHeldOut)
	p.Test = d.histories(s, Test, newItem, minHeldOut)
	p.Train = d.takeTraining(s, newItem)
	return p, nil
}

// Hide makes items that no list may have, such as attributes of users, no targets of validation and
// test users: their histories end with the last other item. Users who have no item before it are
// dropped. Training histories keep all.
func (p *Partition) Hide(hidden func(id string) bool) {
	is := make([]bool, len(p.Items))
	var all []int32
	for i, id := range p.Items {
		if is[i] = hidden(id); is[i] {
			all = append(all, int32(i))
		}
	}
	if all == nil {
		return
	}
	for _, h := range []*Histories{&p.Validation, &p.Test} {
		*h = h.endBefore(is)
		h.Hidden = all
	}
}

// endBefore returns the histories up to the last item that is not marked, of the users who have
// enough items until then.
func (h *Histories) endBefore(marked []bool) Histories {
	out := Histories{Ptr: []int64{0}}
	for u := range h.Len() {
		end := len(h.Of(u))
		for end > 0 && marked[h.Of(u)[end-1]] {
			end--
		}
		if end < minHeldOut {
			continue
		}
		out.User, out.Item = append(out.User, h.User[u]), append(out.Item, h.Of(u)[:end]...)
		if h.Time != nil {
			out.Time = append(out.Time, h.Times(u)[:end]...)
		}
		if h.Weight != nil {
			out.Weight = append(out.Weight, h.Weights(u)[:end]...)
		}
		out.Ptr = append(out.Ptr, int64(len(out.Item)))
	}
	return out
}

// HeldOut returns the histories of all users of d as validation users, over the items of a
// catalogue that was learned elsewhere: ids in bytewise order, each once. Other items are dropped,
// and then users with fewer than two items, as [Interactions.PartitionInPlace] does. There are no
// training and test users. d stays as it is.
func (d *Interactions) HeldOut(items []string) *Partition {
	newItem := make([]int32, len(d.Items))
	for i, id := range d.Items {
		newItem[i] = -1
		if at, found := slices.BinarySearch(items, id); found {
			newItem[i] = int32(at)
		}
	}
	all := slices.Repeat(Split{Validation}, len(d.Users))
	empty := Histories{Ptr: []int64{0}}
	return &Partition{
		Items: items, Train: empty, Validation: d.histories(all, Validation, newItem, minHeldOut),
		Test: empty,
	}
}

// takeTraining moves the training users' events to the front of d's memory and
// gives it away. All items of a training user are kept.
func (d *Interactions) takeTraining(s Split, newItem []int32) Histories {
	users := s.Count(Train)
	h := Histories{User: make([]int32, 0, users), Ptr: make([]int64, 1, users+1)}
	kept := int64(0)
	h.Repeats = slices.DeleteFunc(d.Repeats, func(r Row) bool { return s[r.User] != Train })
	repeats := h.Repeats
	for u, role := range s {
		if role != Train {
			continue
		}
		for ; len(repeats) > 0 && int(repeats[0].User) == u; repeats = repeats[1:] {
			repeats[0].User, repeats[0].Item = int32(len(h.User)), newItem[repeats[0].Item]
		}
		for j := d.Ptr[u]; j < d.Ptr[u+1]; j++ {
			d.move(kept, j, newItem[d.Item[j]])
			kept++
		}
		h.User, h.Ptr = append(h.User, int32(u)), append(h.Ptr, kept)
	}
	d.truncate(kept)
	h.Item, h.Time, h.Weight = d.Item, d.Time, d.Weight
	d.Ptr, d.Item, d.Time, d.Weight = make([]int64, len(d.Users)+1), nil, nil, nil
	d.Repeats = nil
	return h
}

// histories collects the users with the given role who have at least fewest
// items left. The first pass counts, so that nothing is allocated twice.
func (d *Interactions) histories(s Split, role Role, newItem []int32, fewest int) Histories {
	kept := func(u int) (n int) {
		for _, i := range d.Of(u) {
			if newItem[i] >= 0 {
				n++
			}
		}
		return n
	}
	users, events := 0, 0
	for u, r := range s {
		if r != role {
			continue
		}
		if n := kept(u); n >= fewest {
			users++
			events += n
		}
	}
	h := Histories{User: make([]int32, 0, users), Ptr: make([]int64, 1, users+1)}
	h.Item = make([]int32, 0, events)
	if d.Time != nil {
		h.Time = make([]int64, 0, events)
	}
	if d.Weight != nil {
		h.Weight = make([]float32, 0, events)
	}
	for u, r := range s {
		if r == role && kept(u) >= fewest {
			d.appendHistory(&h, u, newItem)
		}
	}
	return h
}

// appendHistory appends what is left of user u's history to h.
func (d *Interactions) appendHistory(h *Histories, u int, newItem []int32) {
	for j := d.Ptr[u]; j < d.Ptr[u+1]; j++ {
		i := newItem[d.Item[j]]
		if i < 0 {
			continue
		}
		h.Item = append(h.Item, i)
		if d.Time != nil {
			h.Time = append(h.Time, d.Time[j])
		}
		if d.Weight != nil {
			h.Weight = append(h.Weight, d.Weight[j])
		}
	}
	h.User = append(h.User, int32(u))
	h.Ptr = append(h.Ptr, int64(len(h.Item)))
}
