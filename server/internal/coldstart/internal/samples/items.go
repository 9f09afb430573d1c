// Package samples keeps, of each item that a model does not know, a sample of its users: the
// evidence by which the item is placed. It knows neither who notices the users nor who places the
// items.
package samples

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/background"
)

// Bounds of the memory for items that the model does not know: about 100 MB with user ids of 20
// bytes.
const (
	maxItems  = 10_000 // items
	keptItems = 9_000  // items left after room has been made for later ones, at most

	// Size is the number of users of an item in its sample, at most: their histories are read.
	Size = 256
)

// Items are the items that the base model does not know, each with a sample of its users: those
// with the smallest hashes. So the sample is uniform over users, it depends on neither the order
// nor the repeats of the events, and the number of all users can be estimated from it. Items is
// safe for concurrent use.
type Items struct {
	mu    sync.Mutex
	items map[string]*coldItem
	users int64 // users of the store

	// Erased users who may still be in samples, each with the items that were noted since: the user
	// has returned. Purge takes them out.
	gone, purging map[string]map[string]bool

	changed *[Parts]bool // parts that were changed since they were written; nil: not needed
}

type coldItem struct {
	sample []sampledUser // by rising hash
	stale  bool          // a user has gone since the item was folded in
}

// sampledUser is a user with a hash that is uniform in [0, 1).
type sampledUser struct {
	hash float64
	id   string
}

// New returns samples of no items.
func New() *Items {
	return &Items{items: map[string]*coldItem{}, gone: map[string]map[string]bool{}}
}

// Note records that the user has the item. No item beyond the bound is recorded; see Trim.
func (n *Items) Note(user, item string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.items[item]
	if c == nil {
		if len(n.items) >= maxItems {
			return
		}
		c = &coldItem{}
		n.items[item] = c
	}
	if c.add(user) {
		n.touch(item)
	}
	for _, erased := range [...]map[string]map[string]bool{n.gone, n.purging} {
		if since, ok := erased[user]; ok {
			if since == nil {
				since = map[string]bool{}
				erased[user] = since
			}
			since[item] = true
		}
	}
}

// Keep drops the items that are not wanted.
func (n *Items) Keep(wanted func(item string) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.items, func(id string, _ *coldItem) bool {
		if wanted(id) {
			return false
		}
		n.touch(id)
		return true
	})
}

// Empty takes all items out, with their samples, and the number of users.
func (n *Items) Empty() (pairs map[string][]string, users int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	pairs = make(map[string][]string, len(n.items))
	for id, c := range n.items {
		for _, u := range c.sample {
			pairs[id] = append(pairs[id], u.id)
		}
	}
	users = n.users
	n.items, n.users = map[string]*coldItem{}, 0
	return pairs, users
}

// Has reports whether there is a sample of an item.
func (n *Items) Has(item string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.items[item] != nil
}

// Wants reports whether Note would add the user to the sample of the item.
func (n *Items) Wants(user, item string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.items[item]
	if c == nil {
		return len(n.items) < maxItems
	}
	at, found := c.find(user)
	return !found && at < Size
}

// Renew makes all items be folded in again.
func (n *Items) Renew() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, c := range n.items {
		c.stale = true
		n.touch(id)
	}
}

// Add counts users of the store who came, less those who went.
func (n *Items) Add(users int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.users += users
}

// Total returns the number of users of the store.
func (n *Items) Total() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.users
}

// Recount corrects the number of users of the store: a count at the time when total was before gave
// this number of users. Users who have come or gone since then stay counted.
func (n *Items) Recount(users, before int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.users += users - before
}

// Drop takes a user out of the sample of one item.
func (n *Items) Drop(user, item string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.items[item]; c != nil {
		n.remove(item, c, user)
	}
}

func (n *Items) remove(item string, c *coldItem, user string) {
	if at, found := c.find(user); found {
		c.sample = slices.Delete(c.sample, at, at+1)
		c.stale = true
		n.touch(item)
	}
	if len(c.sample) == 0 {
		delete(n.items, item)
	}
}

// Trim makes room when the bound is reached: items with too few users for a row go, and beyond
// keptItems the items with the fewest users. They come back with their next events and are then
// counted anew. So a later item replaces an item that has fewer users when the room is used up
// again.
func (n *Items) Trim() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.items) < maxItems {
		return
	}
	ids := slices.SortedFunc(maps.Keys(n.items), func(a, b string) int {
		return cmp.Or(cmp.Compare(n.items[a].count(), n.items[b].count()), cmp.Compare(a, b))
	})
	for _, item := range ids {
		if len(n.items) <= keptItems && len(n.items[item].sample) >= model.MinNewUsers {
			return
		}
		n.touch(item)
		delete(n.items, item)
	}
}

// A Census is the state of the items at one moment.
type Census struct {
	Counts map[string]float64 // users of each item
	Stale  map[string]bool    // items that have lost a user since they were folded in
	Users  int64              // of the store
}

// Census returns the state of the items now, without the erased users.
func (n *Items) Census() Census {
	n.Purge()
	n.mu.Lock()
	defer n.mu.Unlock()
	c := Census{Counts: make(map[string]float64, len(n.items)), Stale: map[string]bool{},
		Users: n.users}
	for id, item := range n.items {
		c.Counts[id] = item.count()
		if item.stale {
			c.Stale[id] = true
		}
	}
	return c
}

// SampleOf returns the sampled users of an item, which is about to be folded in by them.
func (n *Items) SampleOf(item string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.items[item]
	if c == nil {
		return nil
	}
	c.stale = false
	n.touch(item) // what it is placed by is written with it
	return c.users()
}

// Users returns the sampled users of an item.
func (n *Items) Users(item string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.items[item]; c != nil {
		return c.users()
	}
	return nil
}

func (c *coldItem) users() []string {
	ids := make([]string, len(c.sample))
	for i, u := range c.sample {
		ids[i] = u.id
	}
	return ids
}

// find returns the place of the user in the sample, or the place to insert it.
func (c *coldItem) find(user string) (at int, found bool) {
	return slices.BinarySearchFunc(c.sample, sampledUser{background.Draw(user, 0), user},
		compareSampled)
}

func compareSampled(a, b sampledUser) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id))
}

// add reports whether the user is now in the sample and was not before.
func (c *coldItem) add(user string) bool {
	at, found := c.find(user)
	if found || at == Size {
		return false
	}
	if len(c.sample) == Size {
		c.sample = c.sample[:Size-1]
	}
	c.sample = slices.Insert(c.sample, at, sampledUser{background.Draw(user, 0), user})
	return true
}

// count returns the number of users. It is exact while all of them are in the sample. Beyond that
// it is estimated from the density of their hashes, with a standard error of 6 % (Z. Bar-Yossef et
// al., "Counting Distinct Elements in a Data Stream", RANDOM 2002).
func (c *coldItem) count() float64 {
	if len(c.sample) < Size {
		return float64(len(c.sample))
	}
	return float64(Size-1) / c.sample[Size-1].hash
}
