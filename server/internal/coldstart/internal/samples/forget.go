package samples

import (
	"maps"
	"slices"
)

const (
	// purgeItems is the number of items whose samples are looked through at a time. No event waits
	// longer than for these.
	purgeItems = 16
	// purgeUsers is the number of erased users at which a purge does not wait for its time.
	purgeUsers = 10_000
)

// Forget takes a user out of the count, and marks the user. It reports whether it is time for a
// purge.
func (n *Items) Forget(user string) (due bool) {
	n.Add(-1) // perhaps below 0 until Recount
	return n.Mark(user)
}

// Mark marks a user to be taken out of all samples by the next purge. To look through the samples
// here would hold up the events of everybody, once for each erasure. It reports whether it is time
// for a purge.
func (n *Items) Mark(user string) (due bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.items) == 0 {
		return false
	}
	n.gone[user] = nil
	if _, ok := n.purging[user]; ok {
		n.purging[user] = nil // what was noted since the erasure before is erased as well
	}
	return len(n.gone) == purgeUsers
}

// Purge takes the users whom Mark has marked out of all samples. One goroutine purges at a time.
func (n *Items) Purge() {
	n.mu.Lock()
	if len(n.gone) == 0 {
		n.mu.Unlock()
		return
	}
	n.purging, n.gone = n.gone, map[string]map[string]bool{}
	ids := slices.Collect(maps.Keys(n.items))
	n.mu.Unlock()
	for part := range slices.Chunk(ids, purgeItems) {
		n.purgeSome(part)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.purging = nil
}

func (n *Items) purgeSome(ids []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range ids {
		c := n.items[id]
		if c == nil {
			continue
		}
		before := len(c.sample)
		c.sample = slices.DeleteFunc(c.sample, func(u sampledUser) bool {
			since, erased := n.purging[u.id]
			return erased && !since[id]
		})
		if len(c.sample) < before {
			c.stale = true
			n.touch(id)
		}
		if len(c.sample) == 0 {
			delete(n.items, id)
		}
	}
}
