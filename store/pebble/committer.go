package pebble

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
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
	shown     <-chan struct{} // told when a group has been shown

	calls   []*call
	group   []*call // planned, not yet committed
	removal *removal
	trimmed int // shards of the histories, since a generation was sorted; 0: all

	items      []func(*lsm.Batch) error // of the group; each adds the rows of some items
	itemWrites *atomic.Uint64           // calls that wrote items, since the opening

	forgetter *forgetter
}

// unsynced is a group on its way to the disk.
type unsynced struct {
	batch   *lsm.Batch
	calls   []*call
	began   time.Time
	items   uint64 // number of calls that write items
	commit  uint64 // number of the last row of the journal up to here
	users   int64  // as of it
	group   *recent.Group
	removal *removal // of rows, by the group; may be nil
}

func (c *committer) run() {
	defer close(c.toSync)
	for range c.queue.wake {
		calls, closed := c.queue.take(c.calls)
		c.calls = calls
		if !closed {
			c.sortIfDue()
		}
		for _, call := range calls {
			c.serve(call)
		}
		c.commit()
		clear(calls)
		if closed {
			return
		}
		c.sortIfDue()
		c.trim()
	}
}

// trim lets go of histories after a sort, some at a time.
func (c *committer) trim() {
	const shards = 16
	if c.trimmed == 0 && !c.sorter.trim.Swap(false) {
		return
	}
	if c.trimmed = c.editor.TrimShards(c.trimmed, shards); c.trimmed > 0 {
		c.queue.nudge()
	}
}

// sortIfDue begins to sort if there is enough, or if it is time. It does not wait for the disk: if
// a group is under way, its arrival wakes the committer again.
func (c *committer) sortIfDue() {
	if c.sorter.isDue(c.editor) && c.queue.idle() && c.drain() {
		c.sorter.sortNext(c.editor)
	}
}

// drain waits until readers see all groups. It reports whether they do: not if the engine fails.
func (c *committer) drain() bool {
	for !c.editor.Shown() {
		select {
		case <-c.shown:
		case <-c.engine.Failed():
			return false
		}
	}
	return c.engine.Err() == nil
}

// serve takes a call on. Where the call cannot wait, or others cannot wait for it, it commits.
func (c *committer) serve(call *call) {
	if err := c.engine.Err(); err != nil {
		call.done <- err
		return
	}
	if c.sorter.mustBegin(c.editor) {
		c.commit()
		if c.drain() {
			c.sorter.begin(c.editor)
		}
	}
	plan := func() (bool, error) { return true, c.planner.plan(call) }
	switch {
	case call.erase != "":
		plan = func() (bool, error) { return c.planErasure(call) }
	case call.rewrite != nil:
		plan = func() (bool, error) { return c.planRewrite(call.rewrite) }
	case call.items != nil:
		plan = func() (bool, error) { c.items = append(c.items, call.items); return true, nil }
	}
	if !call.take(plan) {
		return
	}
	c.group = append(c.group, call)
	if c.editor.OpenBytes() >= groupBytes || c.editor.HasRows() {
		c.commit()
	}
}

// commit puts the planned calls into the engine's log and memory, which fixes their order, and
// sends them on their way to the disk. If the engine hangs, so does the committer: callers that
// wait learn of the failure from the engine.
func (c *committer) commit() {
	if len(c.group) == 0 {
		return
	}
	u := unsynced{calls: slices.Clone(c.group), began: time.Now(), group: c.editor.TakeGroup()}
	clear(c.group)
	c.group = c.group[:0]
	u.batch = c.engine.DB.NewBatch()
	u.items = uint64(len(c.items))
	err := c.fill(u.batch)
	u.commit, u.users = c.editor.LastRow(), c.editor.Users()
	if r := c.removal; r != nil {
		c.removal, u.removal = nil, r
		defer c.sorter.unlockRows()
		if err == nil {
			err = r.fill(u.batch)
		}
	}
	c.apply(u, err)
}

// fill puts the rows of the journal and of items into the batch. If there are none, it puts a mark
// in the log: its sync makes the originals of duplicates durable, which come before it.
func (c *committer) fill(b *lsm.Batch) error {
	err := c.editor.TakeRows(func(key, value []byte) error { return b.Set(key, value, nil) })
	for _, add := range c.items {
		err = errors.Join(err, add(b))
	}
	clear(c.items)
	c.items = c.items[:0]
	if err == nil && b.Empty() {
		err = b.LogData(nil, nil)
	}
	return err
}

// apply gives the batch to the engine and then to the syncer. err is the error of making the batch.
func (c *committer) apply(u unsynced, err error) {
	c.watch.begin()
	if err == nil {
		err = engine.Safely(func() error { return c.engine.DB.ApplyNoSyncWait(u.batch, lsm.Sync) })
	}
	if err != nil {
		c.engine.Fail(err)
	}
	if reason := c.engine.Err(); reason != nil {
		c.watch.end()
		finish(u.calls, engine.OutcomeOpen(reason))
		return
	}
	c.itemWrites.Add(u.items) // readers see the rows from now on
	c.queue.sent()
	// The engine's writer, woken by ApplyNoSyncWait, goes first. To tell the syncer now would put
	// the writer behind all others.
	runtime.Gosched()
	c.toSync <- u
}

func finish(calls []*call, err error) {
	for _, call := range calls {
		call.done <- err
	}
}

// syncer waits for groups to become durable, shows them to readers, and tells their callers.
type syncer struct {
	engine    *engine.Engine
	histories *recent.Histories
	queue     *queue
	groups    <-chan unsynced
	shown     chan<- struct{}
	watch     *watchdog
	forgetter *forgetter
	synced    func(took time.Duration)
}

func (s *syncer) run() {
	for group := range s.groups {
		s.sync(group)
	}
}

func (s *syncer) sync(u unsynced) {
	if err := engine.Safely(u.batch.SyncWait); err != nil {
		s.engine.Fail(err)
	}
	s.watch.end()
	if reason := s.engine.Err(); reason != nil {
		s.queue.arrived()
		finish(u.calls, engine.OutcomeOpen(reason))
		return
	}
	s.histories.Show(u.group)
	select {
	case s.shown <- struct{}{}:
	default:
	}
	// Just before the callers are told: what they bring next is to be in the next group.
	s.queue.arrived()
	s.engine.Durable(u.commit, u.users)
	if u.removal != nil {
		_ = u.removal.rows.Close() // it only releases memory: no reader finds it any more
		s.forgetter.add(u.removal.users, u.commit)
	}
	s.synced(time.Since(u.began))
	finish(u.calls, nil)
	_ = u.batch.Close() // it only releases memory
}
