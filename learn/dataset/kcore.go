package dataset

// core removes users with fewer than minUser items and items with fewer than
// minItem users, again and again until none is left: the result is the largest
// subset in which all have enough. It works in place, keeps the order of ids
// and events, and returns how many events were removed.
//
// Each round is one pass over the events. Real data settles in a handful.
func (d *Interactions) core(minUser, minItem int) (removed int64) {
	if minUser <= 1 && minItem <= 1 {
		return 0 // users and items without events do not exist
	}
	return d.compact(d.outsideCore(minUser, minItem))
}

// outsideCore marks the users and items that core removes.
func (d *Interactions) outsideCore(minUser, minItem int) (userGone, itemGone []bool) {
	userGone, itemGone = make([]bool, len(d.Users)), make([]bool, len(d.Items))
	users := make([]int32, len(d.Items)) // users of each item that are left
	for _, i := range d.Item {
		users[i]++
	}
	for changed := true; changed; {
		changed = false
		for i, n := range users {
			if !itemGone[i] && int(n) < max(1, minItem) {
				itemGone[i], changed = true, true
			}
		}
		for u := range d.Users {
			if !userGone[u] && d.dropUser(u, minUser, itemGone, users) {
				userGone[u], changed = true, true
			}
		}
	}
	return userGone, itemGone
}

// dropUser takes user u out of the counts of the items, if fewer than minUser
// of the user's items are left.
func (d *Interactions) dropUser(u, minUser int, itemGone []bool, users []int32) bool {
	left := 0
	for _, i := range d.Of(u) {
		if !itemGone[i] {
			left++
		}
	}
	if left >= max(1, minUser) {
		return false
	}
	for _, i := range d.Of(u) {
		users[i]--
	}
	return true
}

// compact removes the users and items that are marked, and their events.
func (d *Interactions) compact(userGone, itemGone []bool) (removed int64) {
	newItem := make([]int32, len(d.Items))
	n := 0
	for i, gone := range itemGone {
		if !gone {
			newItem[i], d.Items[n] = int32(n), d.Items[i]
			n++
		}
	}
	clear(d.Items[n:])
	d.Items = d.Items[:n]

	d.compactRepeats(userGone, itemGone, newItem)
	users, kept, from := 0, int64(0), int64(0)
	for u := range d.Users {
		to := d.Ptr[u+1]
		if !userGone[u] {
			for j := from; j < to; j++ {
				if !itemGone[d.Item[j]] {
					d.move(kept, j, newItem[d.Item[j]])
					kept++
				}
			}
			d.Users[users], d.Ptr[users+1] = d.Users[u], kept
			users++
		}
		from = to
	}
	clear(d.Users[users:])
	d.Users, d.Ptr = d.Users[:users], d.Ptr[:users+1]
	removed = int64(len(d.Item)) - kept
	d.truncate(kept)
	return removed
}

// move copies event from to place to and gives it the new item index.
func (d *Interactions) move(to, from int64, item int32) {
	d.Item[to] = item
	if d.Time != nil {
		d.Time[to] = d.Time[from]
	}
	if d.Weight != nil {
		d.Weight[to] = d.Weight[from]
	}
}

func (d *Interactions) truncate(n int64) {
	d.Item = d.Item[:n]
	if d.Time != nil {
		d.Time = d.Time[:n]
	}
	if d.Weight != nil {
		d.Weight = d.Weight[:n]
	}
}
