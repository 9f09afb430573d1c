// Package calls counts the calls of a store that are under way, so that closing the store can wait
// for them and refuse those that come later.
package calls

import (
	"context"
	"sync"

	"github.com/gsimc/gsimc/store"
)

// Calls are the calls of one store. The zero value is that of an open store without calls. It is
// safe for concurrent use.
type Calls struct {
	mu       sync.Mutex
	closed   bool
	underway sync.WaitGroup
}

// Begin begins a call, which ends with Done. The error is [store.ErrClosed], or that of ctx if it
// has ended; then there is no call.
func (c *Calls) Begin(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.underway.Add(1)
	return nil
}

// Done ends a call.
func (c *Calls) Done() { c.underway.Done() }

// Close refuses all later calls. It does not wait for those under way. The error is
// [store.ErrClosed] if Close was called before.
func (c *Calls) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return store.ErrClosed
	}
	c.closed = true
	return nil
}

// Wait waits until all calls have ended. It is for use after Close.
func (c *Calls) Wait() { c.underway.Wait() }
