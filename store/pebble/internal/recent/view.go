package recent

import "github.com/gsimc/gsimc/store"

// Head returns the shown version of the user, and whether the history is in memory.
func (hs *Histories) Head(user string) (head store.Version, present bool) {
	sh := hs.shard(user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if h := sh.byUser[user]; h != nil {
		return h.version(), true
	}
	return head, false
}

// version is the shown version. Requires the lock of the shard.
func (h *History) version() store.Version {
	if h.shown.head == 0 {
		return store.Version{}
	}
	return store.Version{Revision: h.shown.head, Mark: h.shown.mark}
}

// A View is a history as of one moment.
type View struct {
	Head    store.Version
	After   uint64  // the events up to this revision are left out
	Rows    uint64  // revision up to which the events are in rows
	Pending []Event // the others, in order
}

// Begins reports whether the history with a version begins with that of another version.
func Begins(head, known store.Version) bool {
	return known.Revision == 0 || known.Mark == head.Mark && known.Revision <= head.Revision
}

// An Event is an event that is not in rows.
type Event struct {
	gen   *Generation
	place Place
}

// Bytes returns the encoded event.
func (e Event) Bytes() []byte { return e.gen.Event(e.place) }

// View returns what known lacks of a history, which is all of it if it does not begin with that,
// and whether the history is in memory. If some of that part is in rows, View calls pin, which is
// to begin to read them: as they are, or if rows is not nil, as they were in it. They are of the
// same moment, because a goroutine that takes events out of rows or moves them there has the lock
// first.
func (hs *Histories) View(
	user string, known store.Version, pin func(rows Rows) error,
) (v View, present bool, err error) {
	sh := hs.shard(user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	h := sh.byUser[user]
	if h == nil {
		return v, false, nil
	}
	if v.Head = h.version(); Begins(v.Head, known) {
		v.After = known.Revision
	}
	v.Rows, v.Pending = h.inRows(), hs.pendingOf(h, v.After)
	if v.After < v.Rows {
		err = pin(h.shown.rows)
	}
	return v, true, err
}

// pendingOf returns the shown events above a revision that are not in rows. Requires the lock of
// the shard.
func (hs *Histories) pendingOf(h *History, after uint64) []Event {
	skip := 0
	if rows := h.inRows(); after > rows {
		skip = int(min(after-rows, uint64(h.pending())))
	}
	if skip == h.pending() {
		return nil
	}
	events := make([]Event, 0, h.pending())
	filling := int(hs.filling.Load())
	for _, parity := range [2]int{1 - filling, filling} {
		g := hs.gens[parity].Load()
		for _, p := range h.shown.tails[parity] {
			events = append(events, Event{g, p})
		}
	}
	return events[skip:]
}
