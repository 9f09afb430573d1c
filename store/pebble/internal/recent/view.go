package recent

// Revision returns the shown revision of the user, and whether the history is in memory.
func (hs *Histories) Revision(user string) (revision uint64, present bool) {
	sh := hs.shard(user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if h := sh.byUser[user]; h != nil {
		return h.shown.head, true
	}
	return 0, false
}

// A View is a history as of one moment.
type View struct {
	Rows    uint64  // revision up to which the events are in rows
	Pending []Event // the others, in order
}

// An Event is an event that is not in rows.
type Event struct {
	gen   *Generation
	place Place
}

// Bytes returns the encoded event.
func (e Event) Bytes() []byte { return e.gen.Event(e.place) }

// View returns the part of a history above the revision after, and whether the history is in
// memory. If some of that part is in rows, View calls pin, which is to begin to read them: as they
// are, or if rows is not nil, as they were in it. They are of the same moment, because a goroutine
// that takes events out of rows or moves them there has the lock first.
func (hs *Histories) View(
	user string, after uint64, pin func(rows Rows) error,
) (v View, present bool, err error) {
	sh := hs.shard(user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	h := sh.byUser[user]
	if h == nil {
		return v, false, nil
	}
	v.Rows, v.Pending = h.inRows(), hs.pendingOf(h, after)
	if after < v.Rows {
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
