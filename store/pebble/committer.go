package pebble

import (
	"context"
	"errors"
	"hash/maphash"
	"runtime"
	"slices"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/internal/prefetch"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/plan"
)

// groupBytes is about the largest part of the journal that is made durable at once, beyond the first call.
const groupBytes = 512 << 10

// committer takes the calls of all writers, plans them one after the other and commits those that have come together with
// one batch. It is the only one that changes histories, so that their order needs no locks; the disk is waited for by
// another goroutine. While a group is under way to the disk the calls that come wait together, which is what makes groups
// large when the disk is slow: a group costs the processor more than a call.
type committer struct {
	*Store
	calls   []*call
	group   []*call    // planned, not yet committed
	planned []*history // of the group
	number  uint64     // of the call that is being planned
	touched []*history // by that call
	grown   bool       // by that call: what is in memory of the histories
}

// unsynced is a group on its way to the disk.
type unsynced struct {
	batch *lsm.Batch
	calls []*call
	began time.Time
}

func (c *committer) run() {
	defer close(c.toSync)
	for range c.queue.wake {
		calls, closed := c.queue.take(c.calls)
		c.calls = calls
		for _, call := range calls {
			c.serve(call)
		}
		c.commit()
		clear(calls)
		c.sortIfDue()
		if closed {
			return
		}
	}
}

// serve takes a call on, and commits before and after it what cannot wait.
func (c *committer) serve(call *call) {
	if err := c.failure.err(); err != nil {
		call.done <- err
		return
	}
	c.makeRoom()
	if call.erase != "" {
		c.commit()
		if call.take(func() error { return nil }) {
			c.eraseUser(call)
		}
		return
	}
	if !call.take(func() error { return c.plan(call) }) {
		return
	}
	c.group = append(c.group, call)
	if len(c.journal.block)-c.journal.start >= groupBytes || len(c.journal.rows) > 0 {
		c.commit()
	}
}

// take plans the call by a function, whose error ends it, and reports whether it is to be carried out.
func (c *call) take(plan func() error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.givenUp {
		return false
	}
	c.taken = true
	err := plan()
	if err != nil {
		c.done <- err
	}
	return err == nil
}

// plan decides what becomes of the records and writes the new ones to the open row of the journal. On an error everything
// is as it was.
func (c *committer) plan(call *call) error {
	if err := c.find(call); err != nil {
		return err
	}
	c.grown = call.fetched
	defer c.trim(call.records)
	c.number++
	c.touched = c.touched[:0]
	m := c.journal.mark()
	p := planner{c, call}
	if err := plan.Make(p, call.records, call.results); err != nil {
		c.undo(m)
		return err
	}
	for _, h := range c.touched {
		if !h.planned {
			h.planned = true
			c.planned = append(c.planned, h)
		}
	}
	return nil
}

// find looks up whose histories were not in memory, or are not any more. If one is not, it asks the caller to read it, once.
func (c *committer) find(call *call) error {
	for i, h := range call.handles {
		if h != nil && !h.gone {
			continue
		}
		user := call.records[i].User
		h = c.histories.get(user)
		if h == nil && !call.fetched && (i == 0 || call.records[i-1].User != user) {
			call.missing = append(call.missing, user)
		}
		call.handles[i] = h
	}
	if len(call.missing) > 0 {
		return errRetry
	}
	return nil
}

// trim keeps the bound if histories, or their ids, have come into memory, even if nothing is new.
func (c *committer) trim(records []store.Record) {
	if !c.grown {
		return
	}
	for i := range records {
		c.histories.trim(records[i].User)
	}
}

// undo takes back what the planned call has added, the last first.
func (c *committer) undo(m mark) {
	parity := c.journal.gen.parity
	for _, h := range c.touched {
		added := h.tails[parity][h.before.tail:]
		for _, p := range slices.Backward(added) {
			id, err := eventID(c.journal.gen.event(p))
			if err != nil {
				h.loaded = false // cannot be: it was written a moment ago
				break
			}
			h.ids.remove(maphash.Bytes(c.histories.seed, id))
		}
		h.head, h.tails[parity] = h.before.head, h.tails[parity][:h.before.tail]
	}
	c.journal.back(m)
}

// planner is the view of the histories for the planning of a call.
type planner struct {
	*committer
	call *call
}

// history returns the history of record i, with its ids.
func (p planner) history(i int) (*history, error) {
	h := p.call.handles[i]
	if h == nil {
		user := p.call.records[i].User
		if h = p.histories.get(user); h == nil { // an earlier record may have read it
			loaded, err := p.load(user)
			if err != nil {
				return nil, err
			}
			h = p.histories.put(loaded)
		}
		p.call.handles[i] = h
	}
	if !h.loaded || h.ids.outgrown() {
		if err := p.loadIDs(h); err != nil {
			return nil, err
		}
		p.grown = true
	}
	return h, nil
}

// How many records ahead of its planning each step of loading a history begins: what is in it, and what that shows the way to.
const (
	historyAhead = 8
	idsAhead     = 4
)

// loadAhead begins to load what the records after i will need.
func (p planner) loadAhead(i int) {
	handles := p.call.handles[i:]
	if len(handles) > historyAhead {
		prefetch.Value(handles[historyAhead])
	}
	if len(handles) <= idsAhead {
		return
	}
	if h := handles[idsAhead]; h != nil {
		h.ids.fetch(p.call.hashes[i+idsAhead])
		tail := h.tails[p.journal.gen.parity]
		prefetch.Slice(tail[len(tail):min(len(tail)+1, cap(tail))]) // where the next goes
	}
}

// Find implements plan.Histories.
func (p planner) Find(i int) (revision uint64, e store.Event, err error) {
	p.loadAhead(i)
	h, err := p.history(i)
	if err != nil {
		return 0, store.Event{}, err
	}
	id := p.call.records[i].Event.ID
	h.ids.find(p.call.hashes[i], func(candidate uint64) bool {
		e, err = p.eventAt(h, candidate)
		if err == nil && e.ID == id {
			revision = candidate
		}
		return err == nil && revision == 0
	})
	if err != nil || revision == 0 {
		return 0, store.Event{}, err
	}
	return revision, e, nil
}

// Add implements plan.Histories.
func (p planner) Add(i int) uint64 {
	h, w := p.call.handles[i], p.journal
	parity := w.gen.parity
	if h.before.call != p.number {
		h.before.call, h.before.head, h.before.tail = p.number, h.head, len(h.tails[parity])
		p.touched = append(p.touched, h)
	}
	if len(h.tails[parity]) == 0 {
		w.gen.dirty = append(w.gen.dirty, h)
	}
	e := &p.call.records[i].Event
	h.head++
	h.tails[parity] = append(h.tails[parity], w.event(h.user, h.head, e))
	h.ids.add(p.call.hashes[i])
	return h.head
}

// errFound ends a reading.
var errFound = errors.New("found")

// eventAt returns the event of a revision, planned ones included.
func (c *committer) eventAt(h *history, revision uint64) (store.Event, error) {
	filling := c.journal.gen.parity
	active := h.tails[filling]
	if first := h.head - uint64(len(active)) + 1; revision >= first {
		return decodeEvent(c.journal.gen.event(active[revision-first]))
	}
	// What is older is shown.
	var found store.Event
	err := c.read(context.Background(), h.user, revision-1, func(_ uint64, e store.Event) error {
		found = e
		return errFound
	})
	switch {
	case errors.Is(err, errFound):
		return found, nil
	case err == nil:
		err = missing(revision)
	}
	return store.Event{}, err
}

// commit shows what is planned, puts it into the engine's log and memory, which fixes its order, and sends it on its way to
// the disk. If the engine hangs, so does the committer: whoever waits learns of the failure in another way.
func (c *committer) commit() {
	if len(c.group) == 0 {
		return
	}
	c.journal.closeRow()
	c.histories.show(c.planned)
	clear(c.planned)
	c.planned = c.planned[:0]
	b := c.db.NewBatch()
	err := c.fill(b, nil)
	c.apply(b, err, slices.Clone(c.group))
	clear(c.group)
	c.group = c.group[:0]
}

// fill puts the rows of the journal and what else there is into the batch. If there is nothing, a mark is put into the log,
// whose sync makes the originals of duplicates durable: they come before it in the log.
func (c *committer) fill(b *lsm.Batch, more func() error) error {
	for _, row := range c.journal.rows {
		c.journal.key = journalKey(c.journal.key, row.number)
		if err := b.Set(c.journal.key, row.value, nil); err != nil {
			return err
		}
		c.journal.gen.last = row.number
	}
	clear(c.journal.rows)
	c.journal.rows = c.journal.rows[:0]
	if more != nil {
		return more()
	}
	if b.Empty() {
		return b.LogData(nil, nil)
	}
	return nil
}

func (c *committer) apply(b *lsm.Batch, err error, calls []*call) {
	began := time.Now()
	if err == nil {
		err = safely(func() error { return c.db.ApplyNoSyncWait(b, lsm.Sync) })
	}
	if err != nil {
		c.fail(err)
	}
	if reason := c.failure.err(); reason != nil {
		finish(calls, outcomeOpen(reason))
		return
	}
	c.queue.sent()
	runtime.Gosched() // the engine's writer, woken by ApplyNoSyncWait, goes first; telling sync would put it behind everyone
	c.toSync <- unsynced{b, calls, began}
}

func finish(calls []*call, err error) {
	for _, call := range calls {
		call.done <- err
	}
}

// sync waits for the groups to become durable, and tells their callers.
func (s *Store) sync() {
	for group := range s.toSync {
		err := safely(group.batch.SyncWait)
		if err != nil {
			s.fail(err)
		}
		s.queue.arrived()
		if reason := s.failure.err(); reason != nil {
			finish(group.calls, outcomeOpen(reason))
			continue
		}
		s.opts.Events.Synced(time.Since(group.began))
		finish(group.calls, nil)
		_ = group.batch.Close() // it only releases memory
	}
}

// eraseUser removes the history of a user. From its beginning on readers find none.
func (c *committer) eraseUser(erasure *call) {
	user := erasure.erase
	h := c.histories.get(user)
	if h == nil {
		head, err := c.headInRows(user)
		if errors.Is(err, store.ErrCorrupt) {
			head, err = 1, nil // there is something, which need not be read to be removed
		}
		if err != nil {
			erasure.done <- err
			return
		}
		h = &history{user: user, head: head}
		h.shown.head = head
		h = c.histories.put(h)
	}
	if !c.lockRows() {
		erasure.done <- c.failure.err()
		return
	}
	defer c.unlockRows()
	erasure.erased = h.head
	sh := c.histories.shard(user)
	sh.mu.Lock()
	h.head, h.ids, h.loaded, h.tails, h.shown.head, h.shown.tails = 0, idSet{}, true, [2][]place{}, 0, [2][]place{}
	sh.weigh(h)
	sh.mu.Unlock()
	c.journal.erase(user)
	c.journal.closeRow()
	b := c.db.NewBatch()
	err := c.fill(b, func() error { return b.DeleteRange(headKey(nil, user), endKey(nil, user), nil) })
	c.apply(b, err, []*call{erasure})
	c.histories.trim(user) // not before: without the history in memory the rows count
	c.sortSoon()
}
