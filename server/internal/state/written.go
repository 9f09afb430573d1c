package state

import (
	"sync/atomic"

	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
)

// Written is an event that has just become durable, on its way into the cached state of its user.
type Written struct {
	Record *store.Record
	store.Version
	Model  *model.Model // of the user's arm
	Before uint64       // mark of the history before the event
	Item   int32        // index of the item, if Known
	Known  bool         // the model knows the item

	entry *entry
}

// Told is a word that lives as long as the user's state is cached. A part of the server notes in it
// that it has been told of the user. It is nil if the state is not cached.
func (w *Written) Told() *atomic.Uint64 {
	if w.entry == nil {
		return nil
	}
	return &w.entry.told
}

// The distances, in events, at which the steps of loading a state begin ahead of its fold: far
// enough to hide the latency of the memory, and near enough that the data is still in the cache
// then.
const (
	findAhead    = 9
	stateAhead   = 6
	vectorsAhead = 3
)

// Fold folds durable events into the cached states of their users, in order.
//
// An entry whose version is not that before the event is left to the next read. An entry is made
// only for a first event, which needs no replay. So writing costs O(k) for states of rank k,
// whatever the length of the history.
func (c *Cache) Fold(events []Written) {
	for i := range prefetch.Ahead(len(events),
		prefetch.Stage{Distance: findAhead, Begin: func(i int) { c.find(&events[i]) }},
		prefetch.Stage{Distance: stateAhead, Begin: func(i int) { events[i].loadState() }},
		prefetch.Stage{Distance: vectorsAhead, Begin: func(i int) { events[i].loadVectors() }},
	) {
		c.foldOne(&events[i])
	}
}

// find looks up the entry of the user, if there is one, and begins to load it.
func (c *Cache) find(w *Written) {
	w.entry, _ = c.cache.GetIfPresent(w.Record.User)
	prefetch.Value(w.entry)
}

// loadState begins to load the state of the entry that find has found.
func (w *Written) loadState() {
	if w.entry != nil {
		prefetch.Value(w.entry.vectors.Load())
	}
}

// loadVectors begins to load the vectors of that state, and those of the item.
func (w *Written) loadVectors() {
	if w.entry == nil {
		return
	}
	if v := w.entry.vectors.Load(); v != nil {
		v.Fetch()
	}
	if w.Known {
		w.Model.Fetch(w.Item)
	}
}

// foldOne folds an event into the cached state, whose entry find has looked up.
func (c *Cache) foldOne(w *Written) {
	user := w.Record.User
	if w.entry == nil {
		e, cached := c.cache.GetIfPresent(user) // an event before this one may have made it
		if !cached {
			if w.Revision != 1 {
				return
			}
			e = c.put(user, c.newEntry(w.Model))
		}
		w.entry = e
	}
	if c.foldNext(w) {
		c.reweigh(user, w.entry)
	}
}

// foldNext folds the event if it is the next one of the state. It reports whether the state has
// grown.
func (c *Cache) foldNext(w *Written) (grown bool) {
	e, m := w.entry, w.Model
	e.mu.Lock()
	defer e.mu.Unlock()
	u := &e.state
	before := store.Version{Revision: w.Revision - 1, Mark: w.Before}
	if !u.adopt(m, c.updater.table.Load()) || u.Version != before {
		return false
	}
	c.updater.foldItem(m, u, &w.Record.Event, w.Item, w.Known)
	u.Mark = w.Mark
	return e.measure()
}
