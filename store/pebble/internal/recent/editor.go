package recent

import (
	"hash/maphash"
	"slices"

	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// An Editor changes histories. A call is planned: [Editor.Begin], [Editor.Add] for each new event,
// and [Editor.Keep] or [Editor.Undo]; or [Editor.Erase]. The calls that were kept make a group, see
// [Editor.TakeGroup], which is shown to readers by [Histories.Show] once it is durable. An editor
// belongs to one goroutine, the committer.
type Editor struct {
	histories *Histories
	w         writer
	planned   []*History // changed since the last group
	groups    uint64     // number of the last group
	users     int64      // with events, planned ones included
	uncounted bool       // users is not known

	// The call that is being planned.
	number  uint64
	touched []*History
	start   mark
}

// Put brings a history into memory and returns it, or the history of the user that is there
// already.
func (e *Editor) Put(h *History) *History { return e.histories.put(h) }

// Present returns the history of the user if h, which may be nil, is not in memory any more.
func (e *Editor) Present(h *History, user string) *History {
	if h != nil && !h.gone {
		return h
	}
	return e.histories.Get(user)
}

// Complete reports whether the ids of all events of the history are in memory.
func (e *Editor) Complete(h *History) bool {
	h.used = true
	return h.loaded && !h.ids.outgrown()
}

// LoadIDs notes the ids of all events of a history. fromRows is to add those of the events in rows,
// up to a revision.
func (e *Editor) LoadIDs(h *History, fromRows func(ids *IDs, rows uint64) error) error {
	filling := e.w.gen.parity
	sh := h.shard
	sh.mu.Lock() // the sorter may be about to move the other tail to rows
	tails := [2][]Place{slices.Clone(h.tails[1-filling]), h.tails[filling]}
	sh.mu.Unlock()
	ids := e.histories.NewIDs(h.head)
	if rows := h.head - uint64(len(tails[0])+len(tails[1])); rows > 0 {
		if err := fromRows(&ids, rows); err != nil {
			return err
		}
	}
	for i, parity := range [2]int{1 - filling, filling} {
		g := e.histories.gens[parity].Load()
		for _, p := range tails[i] {
			if err := ids.Add(g.Event(p)); err != nil {
				return err
			}
		}
	}
	h.SetIDs(ids)
	sh.mu.Lock()
	e.histories.weigh(h)
	sh.mu.Unlock()
	return nil
}

// Fetch begins to load a history, which may be nil.
func (e *Editor) Fetch(h *History) { prefetch.Value(h) }

// FetchTail begins to load the memory that [Editor.Candidates] and [Editor.Add] need for an event
// id. The history, which may be nil, should be loaded already.
func (e *Editor) FetchTail(h *History, hash uint64) {
	if h == nil {
		return
	}
	h.ids.fetch(hash)
	tail := h.tails[e.w.gen.parity]
	prefetch.Slice(tail[len(tail):min(len(tail)+1, cap(tail))]) // the place of the next event
}

// Candidates calls fn with each revision whose event id may have the hash, until fn returns false.
// The ids must be complete.
func (e *Editor) Candidates(h *History, hash uint64, fn func(revision uint64) bool) {
	h.ids.find(hash, fn)
}

// Event returns the encoded event of a revision, planned ones included, unless it is in rows.
func (e *Editor) Event(h *History, revision uint64) (event []byte, found bool) {
	filling := e.w.gen.parity
	sh := h.shard
	sh.mu.Lock() // the sorter may be about to move the other tail to rows
	defer sh.mu.Unlock()
	first := h.head + 1
	for _, parity := range [2]int{filling, 1 - filling} {
		tail := h.tails[parity]
		first -= uint64(len(tail))
		if revision >= first {
			return e.histories.gens[parity].Load().Event(tail[revision-first]), true
		}
	}
	return nil, false
}

// Begin begins the planning of a call.
func (e *Editor) Begin() {
	e.number++
	e.touched = e.touched[:0]
	e.start = e.w.mark()
}

// Version returns the version of the history at a revision of it, planned ones included.
func (e *Editor) Version(h *History, revision uint64) store.Version {
	return store.Version{Revision: revision, Mark: h.mark}
}

// Head returns the version of the history, planned events included.
func (e *Editor) Head(h *History) store.Version {
	if h.head == 0 {
		return store.Version{}
	}
	return e.Version(h, h.head)
}

// Add puts an event at the end of a history and returns the version with it. hash is that of the
// event id.
func (e *Editor) Add(h *History, event *store.Event, hash uint64) store.Version {
	gen := e.w.gen
	parity := gen.parity
	if h.before.call != e.number {
		h.before.call, h.before.head, h.before.tail = e.number, h.head, len(h.tails[parity])
		e.touched = append(e.touched, h)
	}
	if len(h.tails[parity]) == 0 {
		gen.dirty = append(gen.dirty, h)
	}
	if h.head == 0 {
		h.mark = store.DrawMark()
		e.users++
	}
	h.head++
	v := store.Version{Revision: h.head, Mark: h.mark}
	h.tails[parity] = append(h.tails[parity], e.w.event(h.user, v, event))
	h.ids.add(hash)
	return v
}

// Undo removes everything that the call has added, the last first.
func (e *Editor) Undo() {
	gen := e.w.gen
	parity := gen.parity
	for _, h := range e.touched {
		added := h.tails[parity][h.before.tail:]
		for _, p := range slices.Backward(added) {
			id, err := row.EventID(gen.Event(p))
			if err != nil {
				h.loaded = false // cannot be: it was written a moment ago
				break
			}
			h.ids.remove(maphash.Bytes(e.histories.seed, id))
		}
		if h.before.head == 0 {
			e.users--
		}
		h.head, h.tails[parity] = h.before.head, h.tails[parity][:h.before.tail]
	}
	e.w.back(e.start)
}

// Keep ends the planning of a call.
func (e *Editor) Keep() {
	for _, h := range e.touched {
		e.plan(h)
	}
}

func (e *Editor) plan(h *History) {
	if !h.planned {
		h.planned = true
		e.planned = append(e.planned, h)
	}
}

// TakeGroup ends the row of the journal that has the planned events and erasures, and returns them
// as a group, which may be empty. It keeps memory within its bound.
func (e *Editor) TakeGroup() *Group {
	e.w.closeRow()
	e.groups++
	g := &Group{number: e.groups, parity: e.w.gen.parity, faces: make([]face, 0, len(e.planned))}
	for _, h := range e.planned {
		g.faces = append(g.faces, face{h, h.head, h.mark, h.tails[g.parity], h.erased})
		h.planned, h.erased, h.group = false, false, g.number
		sh := h.shard
		sh.mu.Lock()
		e.histories.weigh(h)
		e.histories.trim(sh)
		sh.mu.Unlock()
	}
	clear(e.planned)
	e.planned = e.planned[:0]
	e.histories.trimTables()
	return g
}

// Shown reports whether readers see all groups.
func (e *Editor) Shown() bool { return e.histories.shown.Load() == e.groups }

// Trim keeps the memory of the user's shard within its bound. No call must be in planning.
func (e *Editor) Trim(user string) {
	sh := e.histories.shard(user)
	sh.mu.Lock()
	e.histories.trim(sh)
	sh.mu.Unlock()
	e.histories.trimTables()
}

// TrimShards keeps the memory of n shards, from one on, within its bound, and returns the number of
// the next one: 0 after the last. It is to be called for all shards when a generation has been
// sorted, since its histories can go then, even if nothing is written any more. A few at a time
// hold nobody up.
func (e *Editor) TrimShards(from, n int) (next int) {
	next = min(from+n, shardCount)
	for i := from; i < next; i++ {
		sh := &e.histories.shards[i]
		sh.mu.Lock()
		sh.full = e.histories.shardLimit()
		e.histories.trim(sh)
		sh.mu.Unlock()
	}
	return next % shardCount
}

// Empty reports whether the history has no events, planned ones included.
func (e *Editor) Empty(h *History) bool { return h.head == 0 }

// Durable reports whether readers see the history as it is planned.
func (e *Editor) Durable(h *History) bool {
	return !h.planned && h.group <= e.histories.shown.Load()
}

// Erase empties the history, writes to the journal that it does, and returns the number of events
// that there were. rows is a snapshot of the rows from before the erasure, in which readers find
// the history until the erasure is shown. The sorter must not write rows meanwhile.
func (e *Editor) Erase(h *History, rows Rows) uint64 {
	erased := h.head
	e.users-- // even if it is empty, for rows without a head: a replay counts so too
	sh := h.shard
	sh.mu.Lock()
	h.head, h.tails = 0, [2][]Place{} // not cut: readers see them
	h.ids, h.loaded = idSet{}, true
	if h.shown.rows == nil {
		h.shown.rows = rows
	}
	sh.mu.Unlock()
	h.erased = true
	e.plan(h)
	e.w.erase(h.user)
	return erased
}

// OpenBytes returns the size of the open row of the journal.
func (e *Editor) OpenBytes() int { return len(e.w.block) - e.w.start }

// HasRows reports whether there are complete rows of the journal for [Editor.TakeRows].
func (e *Editor) HasRows() bool { return len(e.w.rows) > 0 }

// TakeRows calls fn with the complete rows of the journal that it has not been called with yet. fn
// must not keep the key. After an error the rows that follow it are called with again.
func (e *Editor) TakeRows(fn func(key, value []byte) error) error {
	for _, r := range e.w.rows {
		e.w.key = row.JournalKey(e.w.key, r.number)
		if err := fn(e.w.key, r.value); err != nil {
			return err
		}
		e.w.gen.last = r.number
	}
	clear(e.w.rows)
	e.w.rows = e.w.rows[:0]
	return nil
}

// Users returns the number of users with events, planned ones included; negative: not known.
func (e *Editor) Users() int64 {
	if e.uncounted {
		return -1
	}
	return e.users
}

// LastRow returns the number of the last complete row of the journal; 0: there never was one.
func (e *Editor) LastRow() uint64 { return e.w.next - 1 }

// Full reports whether the generation that is being filled has reached the limit in bytes, or has
// no room for more.
func (e *Editor) Full(limit int) bool { return e.w.gen.full(limit) }

// Next begins another generation and returns the one before, or nil if there is nothing to sort.
// The generation before that must have been sorted, there must be no open row, and all groups must
// be shown: the sorter moves what readers see.
func (e *Editor) Next() *Generation {
	full := e.w.gen
	if len(full.dirty) == 0 && full.last == 0 {
		return nil
	}
	full.users = e.Users()
	next := newGeneration(1 - full.parity)
	e.histories.gens[next.parity].Store(next)
	e.histories.filling.Store(int32(next.parity))
	e.w.begin(next)
	return full
}
