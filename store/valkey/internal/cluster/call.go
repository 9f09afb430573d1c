package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/gsimc/gsimc/store"
)

// A Call is a call of a function that writes. Its keys have one slot.
type Call struct {
	Function   string
	Keys, Args []string

	// Reply and Err are the outcome, set by [Cluster.Write].
	Reply rueidis.RedisMessage
	Err   error

	slot  uint16
	bytes int
	batch *batch
	room  *node // the node whose room it takes
	// What follows belongs to the queue, lane or timer that has the call at present.
	askAt    string // the node to ask about the slot while it moves; empty: its primary
	attempts int
	open     bool // an attempt may have been applied
}

// batch are the calls of one Write.
type batch struct {
	ctx  context.Context
	done chan struct{} // closed when all calls have an outcome

	mu      sync.Mutex
	left    int   // calls without an outcome
	problem error // why the last attempt of one of them had no outcome
}

// gone reports whether nobody waits for the calls any more.
func (b *batch) gone() bool { return b.ctx.Err() != nil }

// settle gives a call its outcome, unless the caller has gone.
func (c *Call) settle(reply rueidis.RedisMessage, err error) {
	c.room.taken.Add(-1)
	b := c.batch
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		return
	}
	c.Reply, c.Err = reply, err
	c.batch = nil // of no use to the caller, who tells by it that there is an outcome
	if b.left--; b.left == 0 {
		close(b.done)
	}
}

// drop forgets a call that nobody waits for.
func (c *Call) drop() { c.room.taken.Add(-1) }

// abandon ends the waiting for calls: those without an outcome get an error, and later ones are
// not looked at.
func (b *batch) abandon(calls []*Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		return
	}
	b.left = 0
	err := ended(b.ctx, b.problem)
	for _, c := range calls {
		if c.batch != nil {
			c.Err = err
		}
	}
}

// note keeps why an attempt had no outcome.
func (b *batch) note(problem error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problem = problem
}

// ended is the error of a call whose context has ended. If its time was over because the cluster
// did not answer, it wraps store.ErrUnavailable too.
func ended(ctx context.Context, problem error) error {
	err := context.Cause(ctx)
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
		return err
	case problem == nil:
		return unavailable("no answer in time: %w", err)
	default:
		return fmt.Errorf("%w: %w", problem, err)
	}
}

// patience is the time after which a call without a deadline gives up.
const patience = 30 * time.Second

// bounded gives a context without a deadline one.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// unavailable is an error that wraps store.ErrUnavailable.
func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{store.ErrUnavailable}, args...)...)
}
