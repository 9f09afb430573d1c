package pebble

import (
	"slices"
	"strings"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/internal/prefetch"
)

const (
	// rowEvents and rowBytes bound a row of events: large enough that its key costs little, small enough that one event of
	// it is found soon.
	rowEvents = 64
	rowBytes  = 4 << 10
	// sortBatch is about how much the sorter gives to the engine at once. An erasure waits for it.
	sortBatch = 1 << 20
	// eraseDelay is how long the journal may keep the events of an erased user, while the store is open.
	eraseDelay = 10 * time.Second
)

// sorter writes the events of a generation to the rows of their users, and then removes that part of the journal.
//
// Its batches are not synced: what they say is in the journal too until the last of them removes it there, and the log of
// the engine keeps their order. After a crash between two batches the revision in the head says which events are in rows.
type sorter struct {
	*Store
	gen        *generation
	batch      *lsm.Batch
	written    []*history // in the batch
	key, value []byte
}

// sortIfDue begins to sort if there is enough, or if it is time. It belongs to the committer.
func (c *committer) sortIfDue() {
	due := c.journal.gen.full(c.opts.sortBytes) || c.sortDue.Load()
	if !due || c.sorting && !c.sorterDone() || c.failure.err() != nil {
		return
	}
	c.sortDue.Store(false)
	c.beginSort()
}

// makeRoom waits for the sorter when the journal is too large. It belongs to the committer.
func (c *committer) makeRoom() {
	if !c.journal.gen.full(2 * c.opts.sortBytes) {
		return
	}
	c.commit()
	if c.failure.err() != nil {
		return // what is in the generation may not be in the journal
	}
	if c.sorting {
		select {
		case <-c.sorted:
			c.sorting = false
		case <-c.failure.ch:
			return
		}
	}
	c.beginSort()
}

// sorterDone reports whether the generation before has been sorted.
func (c *committer) sorterDone() bool {
	select {
	case <-c.sorted:
		c.sorting = false
	default:
	}
	return !c.sorting
}

// beginSort hands the generation over. There must be no open row and no other sort.
func (c *committer) beginSort() {
	full := c.journal.gen
	if len(full.dirty) == 0 && full.last == 0 {
		return
	}
	next := newGeneration(1 - full.parity)
	c.gens[next.parity].Store(next)
	c.filling.Store(int32(next.parity))
	c.journal.begin(next)
	c.sorting = true
	c.workers.Go(func() { c.sort(full) })
}

// sortSoon makes the committer sort, even if there is little, within eraseDelay.
func (s *Store) sortSoon() {
	if s.sortTimer.CompareAndSwap(false, true) {
		time.AfterFunc(eraseDelay, func() {
			s.sortTimer.Store(false)
			s.sortDue.Store(true)
			s.queue.nudge()
		})
	}
}

// sort sorts a generation. When it fails, so does the store, and the journal keeps everything.
func (s *Store) sort(g *generation) {
	w := sorter{Store: s, gen: g}
	for users := inOrder(g.dirty); len(users) > 0; {
		var err error
		if users, err = w.some(users); err != nil {
			s.fail(err)
			return
		}
	}
	if err := w.removeJournal(); err != nil {
		s.fail(err)
		return
	}
	s.sorted <- struct{}{}
	s.queue.nudge() // there may be the next to sort, and nobody who writes
}

// inOrder returns the histories by their keys, each once: one that was erased meanwhile may be there twice.
func inOrder(dirty []*history) []*history {
	type named struct {
		user string // beside the history, since to look into two of them takes longer than to compare
		h    *history
	}
	users := make([]named, len(dirty))
	for i, h := range dirty {
		if len(dirty) > i+ahead {
			prefetch.Value(dirty[i+ahead])
		}
		users[i] = named{h.user, h}
	}
	slices.SortFunc(users, func(a, b named) int {
		if len(a.user) != len(b.user) {
			return len(a.user) - len(b.user)
		}
		return strings.Compare(a.user, b.user)
	})
	for i, u := range users {
		dirty[i] = u.h
	}
	return slices.Compact(dirty)
}

// ahead is how many histories before its turn one is fetched; what that shows the way to is fetched half as long before.
const ahead = 8

// fetch begins to load what the histories after the first will need.
func (w *sorter) fetch(users []*history) {
	if len(users) > ahead {
		prefetch.Value(users[ahead])
	}
	if len(users) > ahead/2 {
		prefetch.Slice(users[ahead/2].tails[w.gen.parity])
	}
}

// some writes the rows of some of the users and returns the others.
func (w *sorter) some(users []*history) (rest []*history, err error) {
	if !w.lockRows() {
		return nil, w.failure.err()
	}
	defer w.unlockRows()
	w.batch, w.written = w.db.NewBatch(), w.written[:0]
	for len(users) > 0 && (len(w.written) == 0 || w.batch.Len() < w.opts.sortBatch) {
		w.fetch(users)
		h := users[0]
		users = users[1:]
		if tail := h.tails[w.gen.parity]; len(tail) > 0 {
			if err := w.history(h, tail); err != nil {
				return nil, err
			}
			w.written = append(w.written, h)
		}
	}
	if err := w.write(); err != nil {
		return nil, err
	}
	for _, h := range w.written {
		w.moved(h)
	}
	return users, nil
}

// history writes the rows of a user to the batch.
func (w *sorter) history(h *history, tail []place) error {
	sh := h.shard
	sh.mu.Lock()
	revision := h.inRows()
	sh.mu.Unlock()
	for len(tail) > 0 {
		w.key = eventKey(w.key, h.user, revision+1)
		w.value = append(w.value[:0], eventsVersion)
		n := 0
		for n < len(tail) && n < rowEvents && len(w.value) < rowBytes {
			w.value = appendBytes(w.value, w.gen.event(tail[n]))
			n++
		}
		w.value = appendCRC(w.value, w.key)
		if err := w.batch.Set(w.key, w.value, nil); err != nil {
			return err
		}
		tail, revision = tail[n:], revision+uint64(n)
	}
	w.key = headKey(w.key, h.user)
	w.value = encodeNumber(w.value, w.key, revision)
	return w.batch.Set(w.key, w.value, nil)
}

func (w *sorter) write() error {
	err := safely(func() error { return w.db.Apply(w.batch, lsm.NoSync) })
	if err == nil {
		err = w.batch.Close()
	}
	return err
}

// maxTailCapacity is the room for events that a history keeps for the generation after the next.
const maxTailCapacity = 128

// moved lets readers find the events of the generation in rows.
func (w *sorter) moved(h *history) {
	sh := h.shard
	sh.mu.Lock()
	defer sh.mu.Unlock()
	tail := &h.tails[w.gen.parity]
	if cap(*tail) > maxTailCapacity {
		*tail = nil
	}
	*tail = (*tail)[:0]
	h.shown.tails[w.gen.parity] = nil
}

func (w *sorter) removeJournal() error {
	if !w.lockRows() {
		return w.failure.err()
	}
	defer w.unlockRows()
	w.batch = w.db.NewBatch()
	if err := w.batch.DeleteRange(journalPrefix, journalKey(nil, w.gen.last+1), nil); err != nil {
		return err
	}
	return w.write()
}

// lockRows keeps the sorter and an erasure apart. It reports false if the store has failed.
func (s *Store) lockRows() bool {
	select {
	case s.rows <- struct{}{}:
	case <-s.failure.ch:
		return false
	}
	if s.failure.err() != nil {
		s.unlockRows()
		return false
	}
	return true
}

func (s *Store) unlockRows() { <-s.rows }
