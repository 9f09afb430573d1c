package pebble

import (
	"context"
	"fmt"
	"sync"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
)

// call is a write on its way through the committer.
type call struct {
	records []store.Record         // of an Append
	erase   string                 // or the user of an Erase
	rewrite *rewrite               // or a Rewrite
	items   func(*lsm.Batch) error // or what adds the rows of items to a batch
	results []store.Result
	erased  uint64

	hashes  []uint64          // of the ids of the events
	handles []*recent.History // of the records' users, as the caller found them; may be nil or gone
	fetched bool              // missing users have been read, if there was room for them
	missing []string          // users to be read before the call is tried again
	done    chan error        // has room for the outcome; errRetry: missing is set

	mu      sync.Mutex // held while the call is planned: the only time at which records are read
	taken   bool       // it has been planned
	givenUp bool       // its caller has left before
}

// take plans the call by a function, which reports whether there is a group to wait for. take
// reports the same. Without one, and after an error, the call ends here.
func (c *call) take(plan func() (bool, error)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.givenUp {
		return false
	}
	c.taken = true
	wait, err := plan()
	if err != nil || !wait {
		c.done <- err
		return false
	}
	return true
}

// giveUp ends the waiting of the caller. It reports whether nothing was done. The caller may use
// the records again in either case.
func (c *call) giveUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.givenUp = !c.taken
	return c.givenUp
}

// queue holds the calls that wait for the committer.
type queue struct {
	mu       sync.Mutex
	calls    []*call
	underway int  // groups on their way to the disk; when the last one arrives, the committer wakes
	wanted   bool // the committer is to be woken when none is under way
	closed   bool
	wake     chan struct{} // holds a token when there is something to do
}

// push adds a call. It wakes the committer only if the arrival of a group will not: to wake it
// costs more than to plan a call.
func (q *queue) push(c *call) {
	q.mu.Lock()
	q.calls = append(q.calls, c)
	wake := len(q.calls) == 1 && q.underway == 0
	q.mu.Unlock()
	if wake {
		q.nudge()
	}
}

// sent notes that a group is on its way to the disk.
func (q *queue) sent() {
	q.mu.Lock()
	q.underway++
	q.mu.Unlock()
}

// arrived notes that a group has become durable, or never will.
func (q *queue) arrived() {
	q.mu.Lock()
	q.underway--
	wake := (len(q.calls) > 0 || q.wanted) && q.underway == 0
	q.mu.Unlock()
	if wake {
		q.nudge()
	}
}

func (q *queue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// idle reports whether no group is under way to the disk. If one is, the arrival of the last wakes
// the committer.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wanted = q.underway > 0
	return !q.wanted
}

// take returns the waiting calls, in spare memory, unless a group is under way, and whether these
// are the last.
func (q *queue) take(spare []*call) (calls []*call, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.underway > 0 && !q.closed {
		return spare[:0], false
	}
	q.wanted = false
	calls, q.calls = q.calls, spare[:0]
	return calls, q.closed
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.nudge()
}

// submit lets the committer work on a call and waits for the outcome.
func (s *Store) submit(ctx context.Context, c *call) error {
	stuck := s.engine.Stuck()
	select {
	case <-stuck:
		return engine.ErrStuck
	default:
	}
	s.queue.push(c)
	select {
	case err := <-c.done:
		return err
	case <-s.engine.Failed():
	case <-stuck:
	case <-ctx.Done():
		if c.giveUp() {
			return ctx.Err()
		}
		return fmt.Errorf("waiting for a write to become durable, its outcome is open: %w",
			ctx.Err())
	}
	untouched := c.giveUp()
	select {
	case err := <-c.done: // before the failure
		return err
	default:
	}
	failed := s.engine.Err()
	switch {
	case failed == nil:
		return engine.ErrStuck
	case untouched:
		return failed
	}
	return engine.OutcomeOpen(failed)
}
