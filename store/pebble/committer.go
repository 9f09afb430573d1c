package pebble

import (
	"errors"
	"runtime"
	"slices"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// groupBytes is about the largest part of the journal that is made durable at once, beyond the
// first call.
const groupBytes = 512 << 10

// committer takes the calls of all writers, plans them one after the other and commits those that
// have come together with one batch. No other goroutine changes histories, so that their order
// needs no locks. Another goroutine, the syncer, waits for the disk. While a group is under way to
// the disk the calls that come wait together, which makes groups large when the disk is slow: a
// group costs the processor more than a call.
type committer struct {
	engine    *engine.Engine
	histories *recent.Histories
	reader    reader
	editor    *recent.Editor
	planner   *planner
	queue     *queue
	sorter    *sorter
	toSync    chan<- unsynced
	watch     *watchdog

	calls []*call
	group []*call // planned, not yet committed
}

// unsynced is a group on its way to the disk.
type unsynced struct {
	batch  *lsm.Batch
	calls  []*call
	began  time.Time
	commit uint64 // number of the last row of the journal up to here
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
		c.sorter.beginIfDue(c.editor)
		if closed {
			return
		}
	}
}

// serve takes a call on. Where the call cannot wait, or others cannot wait for it, it commits.
func (c *committer) serve(call *call) {
	if err := c.engine.Err(); err != nil {
		call.done <- err
		return
	}
	if c.sorter.mustBegin(c.editor) {
		c.commit()
		c.sorter.begin(c.editor)
	}
	if call.erase != "" {
		c.commit()
		if call.take(func() error { return nil }) {
			c.eraseUser(call)
		}
		return
	}
	if !call.take(func() error { return c.planner.plan(call) }) {
		return
	}
	c.group = append(c.group, call)
	if c.editor.OpenBytes() >= groupBytes || c.editor.HasRows() {
		c.commit()
	}
}

// commit shows the planned events, puts them into the engine's log and memory, which fixes their
// order, and sends them on their way to the disk. If the engine hangs, so does the committer:
// callers that wait learn of the failure from the engine.
func (c *committer) commit() {
	if len(c.group) == 0 {
		return
	}
	c.editor.Show()
	b := c.engine.DB.NewBatch()
	err := c.fill(b)
	if err == nil && b.Empty() {
		// A mark in the log. Its sync makes the originals of duplicates durable, which come before
		// it.
		err = b.LogData(nil, nil)
	}
	c.apply(b, err, slices.Clone(c.group))
	clear(c.group)
	c.group = c.group[:0]
}

// fill puts the rows of the journal into the batch.
func (c *committer) fill(b *lsm.Batch) error {
	return c.editor.TakeRows(func(key, value []byte) error { return b.Set(key, value, nil) })
}

// apply gives the batch to the engine and then to the syncer. err is the error of making the batch.
func (c *committer) apply(b *lsm.Batch, err error, calls []*call) {
	began := time.Now()
	c.watch.begin()
	if err == nil {
		err = engine.Safely(func() error { return c.engine.DB.ApplyNoSyncWait(b, lsm.Sync) })
	}
	if err != nil {
		c.engine.Fail(err)
	}
	if reason := c.engine.Err(); reason != nil {
		c.watch.end()
		finish(calls, engine.OutcomeOpen(reason))
		return
	}
	c.queue.sent()
	// The engine's writer, woken by ApplyNoSyncWait, goes first. To tell the syncer now would put
	// the writer behind all others.
	runtime.Gosched()
	c.toSync <- unsynced{b, calls, began, c.editor.LastRow()}
}

func finish(calls []*call, err error) {
	for _, call := range calls {
		call.done <- err
	}
}

// eraseUser removes the history of a user. From its beginning on readers find none.
func (c *committer) eraseUser(erasure *call) {
	user := erasure.erase
	h := c.histories.Get(user)
	if h == nil {
		head, err := c.reader.headInRows(user)
		if errors.Is(err, store.ErrCorrupt) {
			head, err = 1, nil // there is something, which need not be read to be removed
		}
		if err != nil {
			erasure.done <- err
			return
		}
		h = c.editor.Put(recent.NewHistory(user, head))
	}
	if err := c.sorter.lockRows(); err != nil {
		erasure.done <- err
		return
	}
	defer c.sorter.unlockRows()
	erasure.erased = c.editor.Erase(h)
	b := c.engine.DB.NewBatch()
	err := c.fill(b)
	if err == nil {
		err = b.DeleteRange(row.HeadKey(nil, user), row.EndKey(nil, user), nil)
	}
	c.apply(b, err, []*call{erasure})
	c.editor.Trim(user) // not before: without the history in memory the rows count
	c.sorter.soon()
}

// syncer waits for groups to become durable, and tells their callers.
type syncer struct {
	engine *engine.Engine
	queue  *queue
	groups <-chan unsynced
	watch  *watchdog
	synced func(took time.Duration)
}

func (s *syncer) run() {
	for group := range s.groups {
		s.sync(group)
	}
}

func (s *syncer) sync(group unsynced) {
	if err := engine.Safely(group.batch.SyncWait); err != nil {
		s.engine.Fail(err)
	}
	s.watch.end()
	s.queue.arrived()
	if reason := s.engine.Err(); reason != nil {
		finish(group.calls, engine.OutcomeOpen(reason))
		return
	}
	s.engine.Durable(group.commit)
	s.synced(time.Since(group.began))
	finish(group.calls, nil)
	_ = group.batch.Close() // it only releases memory
}
