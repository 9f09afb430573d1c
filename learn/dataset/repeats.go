package dataset

import (
	"slices"
)

// Row is an event of a user.
type Row struct {
	Time   int64
	User   int32
	Place  int32 // number of the user's first places before it; of a repeat 1 or more
	Item   int32
	Weight float32 // 1 if the data has none
}

// Repeats are the events that repeat an item of their user, in the order of the users and of their
// events. They belong to histories that have the first places.
type Repeats []Row

// ofUser returns the repeats of a user.
func (r Repeats) ofUser(user int32) Repeats {
	begin, _ := slices.BinarySearchFunc(r, user, byUser)
	end, _ := slices.BinarySearchFunc(r, user+1, byUser)
	return r[begin:end]
}

func byUser(r Row, user int32) int { return int(r.User) - int(user) }

// RepeatsOf returns the repeats of user u. They belong to d.
func (d *Interactions) RepeatsOf(u int) Repeats { return d.Repeats.ofUser(int32(u)) }

// Whole returns the whole history of user u, with its repeats. It needs times.
func (d *Interactions) Whole(u int) []Row {
	var weights []float32
	if d.Weight != nil {
		weights = d.Weight[d.Ptr[u]:d.Ptr[u+1]]
	}
	return d.Repeats.ofUser(int32(u)).whole(d.Of(u), d.Time[d.Ptr[u]:d.Ptr[u+1]], weights)
}

// Whole returns the whole history of the k-th user, with its repeats. It needs times.
func (h *Histories) Whole(k int) []Row {
	return h.Repeats.ofUser(int32(k)).whole(h.Of(k), h.Times(k), h.Weights(k))
}

// whole merges the repeats of a user with the first places.
func (r Repeats) whole(items []int32, times []int64, weights []float32) []Row {
	all := make([]Row, 0, len(items)+len(r))
	for j, i := range items {
		row := Row{Time: times[j], Place: int32(j), Item: i, Weight: 1}
		if weights != nil {
			row.Weight = weights[j]
		}
		all = append(all, row)
		for len(r) > 0 && int(r[0].Place) == j+1 {
			all, r = append(all, r[0]), r[1:]
		}
	}
	return all
}

// compactRepeats follows [Interactions.compact], with the users and first places before it.
func (d *Interactions) compactRepeats(userGone, itemGone []bool, newItem []int32) {
	left, next, users := d.Repeats[:0], d.Repeats, int32(0)
	for u := range d.Users {
		var mine Repeats
		for mine = next; len(next) > 0 && int(next[0].User) == u; {
			next = next[1:]
		}
		mine = mine[:len(mine)-len(next)]
		if userGone[u] {
			continue
		}
		place, kept, items := int32(0), int32(0), d.Of(u)
		for _, r := range mine {
			for ; place < r.Place; place++ {
				if !itemGone[items[place]] {
					kept++
				}
			}
			if !itemGone[r.Item] {
				r.User, r.Place, r.Item = users, kept, newItem[r.Item]
				left = append(left, r)
			}
		}
		users++
	}
	d.Repeats = left
}
