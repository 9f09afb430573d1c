package server

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/gsimc/gsimc/model"
)

// Bounds of what is kept of items that the model does not know. All full, that is about 100 MB with user ids of 20 bytes.
const (
	maxNewcomers   = 10_000 // items
	keptNewcomers  = 9_000  // items at most that are left when room is made, so that there is some for later ones
	newcomerSample = 256    // users of an item whose histories are read
)

// newcomers are the items that the base model does not know, each with a sample of the users who have it: those with the
// smallest hashes, so that the sample is uniform over users, the same whatever the order and the repeats of the events, and
// says how many users there are beyond it. It is safe for concurrent use.
type newcomers struct {
	mu    sync.Mutex
	items map[string]*newcomer
	users int64 // users of the store
}

type newcomer struct {
	sample []sampledUser // by rising hash
	stale  bool          // a user has gone since the item was placed
}

// sampledUser is a user with a hash that is uniform in [0, 1).
type sampledUser struct {
	hash float64
	id   string
}

func newNewcomers() *newcomers { return &newcomers{items: map[string]*newcomer{}} }

// note records that the user has the item. An item beyond the bound is not recorded; see trim.
func (n *newcomers) note(user, item string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.items[item]
	if c == nil {
		if len(n.items) >= maxNewcomers {
			return
		}
		c = &newcomer{}
		n.items[item] = c
	}
	c.add(user)
}

// keep lets go of the items that are not among the wanted.
func (n *newcomers) keep(wanted func(item string) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.items, func(item string, _ *newcomer) bool { return !wanted(item) })
}

// arrived counts a user.
func (n *newcomers) arrived() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.users++
}

// total is the number of users.
func (n *newcomers) total() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.users
}

// recount corrects the number of users: there were so many when total was before. Those who have come or gone since then count.
func (n *newcomers) recount(users, before int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.users += users - before
}

// forget takes a user out of the count and out of all samples.
func (n *newcomers) forget(user string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.users-- // perhaps below 0 until recount
	for item, c := range n.items {
		n.remove(item, c, user)
	}
}

// drop takes a user out of the sample of one item.
func (n *newcomers) drop(user, item string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.items[item]; c != nil {
		n.remove(item, c, user)
	}
}

func (n *newcomers) remove(item string, c *newcomer, user string) {
	if at, found := c.find(user); found {
		c.sample = slices.Delete(c.sample, at, at+1)
		c.stale = true
	}
	if len(c.sample) == 0 {
		delete(n.items, item)
	}
}

// trim makes room when the bound is reached: items with too few users for a row go, and beyond keptNewcomers those with the
// fewest users. They come back with their next events and then count anew, so a later item takes the place of one that has
// fewer users by the time that the room is used up again.
func (n *newcomers) trim() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.items) < maxNewcomers {
		return
	}
	ids := slices.SortedFunc(maps.Keys(n.items), func(a, b string) int {
		return cmp.Or(cmp.Compare(n.items[a].count(), n.items[b].count()), cmp.Compare(a, b))
	})
	for _, item := range ids {
		if len(n.items) <= keptNewcomers && len(n.items[item].sample) >= model.MinNewUsers {
			return
		}
		delete(n.items, item)
	}
}

// census is the state of the newcomers at one moment.
type census struct {
	counts map[string]float64 // users of each item
	stale  map[string]bool    // items that a user has gone from
	users  int64              // of the store
}

func (n *newcomers) census() census {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := census{counts: make(map[string]float64, len(n.items)), stale: map[string]bool{}, users: n.users}
	for item, newcomer := range n.items {
		c.counts[item] = newcomer.count()
		if newcomer.stale {
			c.stale[item] = true
		}
	}
	return c
}

// sampleOf returns the sampled users of an item, which is about to be placed by them.
func (n *newcomers) sampleOf(item string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.items[item]
	if c == nil {
		return nil
	}
	c.stale = false
	ids := make([]string, len(c.sample))
	for i, u := range c.sample {
		ids[i] = u.id
	}
	return ids
}

// find is the place of the user in the sample, or where it would be.
func (c *newcomer) find(user string) (at int, found bool) {
	return slices.BinarySearchFunc(c.sample, sampledUser{draw(user, 0), user}, func(a, b sampledUser) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id))
	})
}

func (c *newcomer) add(user string) {
	at, found := c.find(user)
	if found || at == newcomerSample {
		return
	}
	if len(c.sample) == newcomerSample {
		c.sample = c.sample[:newcomerSample-1]
	}
	c.sample = slices.Insert(c.sample, at, sampledUser{draw(user, 0), user})
}

// count is the number of users: exact while they all are in the sample, otherwise estimated from how dense their hashes are
// (Z. Bar-Yossef et al., "Counting Distinct Elements in a Data Stream", RANDOM 2002), with a standard error of 6 %.
func (c *newcomer) count() float64 {
	if len(c.sample) < newcomerSample {
		return float64(len(c.sample))
	}
	return float64(newcomerSample-1) / c.sample[newcomerSample-1].hash
}
