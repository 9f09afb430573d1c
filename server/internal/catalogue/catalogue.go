package catalogue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/store"
)

// ErrNone is returned where the store keeps no items.
var ErrNone = errors.New("catalogue: the store keeps no items")

// errPanic is the outcome of a write that panicked.
var errPanic = errors.New("catalogue: panic during a write")

// Catalogue is the catalogue of a store. It is safe for concurrent use.
type Catalogue struct {
	store store.Items // nil: there is none

	// writing holds a token while an item is written: the merge with what is there, the write to
	// the store and the index are one step.
	writing chan struct{}
	// build is held while the index changes, and while a view is made of it. It is taken before mu.
	build sync.Mutex
	// size is the number of items. Without any, nothing else is looked at.
	size atomic.Int64

	// mu guards the rest. It is held for short times only, as requests wait for it.
	mu    sync.RWMutex
	items index
	views []*View
	now   int64 // the time that all views are of
	turns turns

	due    atomic.Int64 // the time of the first turn
	judged atomic.Int64 // what now is
}

// Open reads the catalogue of a store. A store that keeps no items has none, which nobody can
// write to. The clock of the callers says now.
func Open(ctx context.Context, st store.Store, now time.Time) (*Catalogue, error) {
	c := &Catalogue{writing: make(chan struct{}, 1), items: newIndex(),
		now: now.UnixMicro()}
	c.noteClock()
	var ok bool
	if c.store, ok = st.(store.Items); !ok {
		return c, nil
	}
	err := c.store.EachItem(ctx, "", func(item store.Item) error {
		c.put(&item)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	return c, nil
}

// Size returns the number of items.
func (c *Catalogue) Size() int { return int(c.size.Load()) }

// Get returns an item as the store has it. [ErrNone]: there is no catalogue.
func (c *Catalogue) Get(ctx context.Context, id string) (item store.Item, found bool, err error) {
	if c.store == nil {
		return store.Item{}, false, ErrNone
	}
	return c.store.Item(ctx, id)
}

// Each calls fn for the items behind an id, see [store.Items]. [ErrNone]: there is no catalogue.
func (c *Catalogue) Each(ctx context.Context, after string, fn func(store.Item) error) error {
	if c.store == nil {
		return ErrNone
	}
	return c.store.EachItem(ctx, after, fn)
}

// Upsert writes items, which must have different ids. Each is what change makes of the item that is
// there, or of an item with its id alone. It returns the number of items that were not there.
// [ErrNone]: there is no catalogue. Other errors are those of change and of [store.Items].
//
// The end of ctx ends the waiting and not the write, so that the index and the store agree.
func (c *Catalogue) Upsert(
	ctx context.Context, ids []string, change func(at int, item *store.Item) error,
) (created int, err error) {
	err = c.exclusively(ctx, func(ctx context.Context) error {
		items := make([]store.Item, len(ids))
		for at, id := range ids {
			item, found, err := c.store.Item(ctx, id)
			if err != nil {
				return err
			}
			if !found {
				item = store.Item{ID: id}
				created++
			}
			if err := change(at, &item); err != nil {
				return err
			}
			items[at] = item.Clone()
		}
		if err := c.store.PutItems(ctx, items); err != nil {
			return err
		}
		c.build.Lock()
		defer c.build.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		for at := range items {
			c.put(&items[at])
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return created, nil
}

// Delete removes items and returns how many were there, as [Catalogue.Upsert] otherwise.
func (c *Catalogue) Delete(ctx context.Context, ids []string) (deleted int, err error) {
	err = c.exclusively(ctx, func(ctx context.Context) error {
		if err := c.store.DeleteItems(ctx, ids); err != nil {
			return err
		}
		c.build.Lock()
		defer c.build.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, id := range ids {
			if slot, found := c.items.slots[id]; found {
				c.drop(slot)
				deleted++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

// exclusively does a piece of work that no other runs beside. If ctx ends, the work goes on and
// nobody waits for it.
func (c *Catalogue) exclusively(
	ctx context.Context, work func(context.Context) error,
) error {
	if c.store == nil {
		return ErrNone
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := make(chan error, 1)
	go func() {
		err := errPanic
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%w: %v", errPanic, p)
			}
			<-c.writing
			done <- err
		}()
		err = work(context.WithoutCancel(ctx))
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// put adds an item to the index, or changes it there, in all views. Requires build and mu.
func (c *Catalogue) put(item *store.Item) {
	if slot, found := c.items.slots[item.ID]; found {
		c.drop(slot)
	}
	slot := c.items.add(item)
	c.size.Store(int64(len(c.items.slots)))
	e := &c.items.entries[slot]
	for _, v := range c.views {
		v.add(slot, e)
	}
	c.judge(slot)
	c.schedule(slot)
	c.noteClock()
}

// drop removes the item of a slot from the index and from all views. Requires build and mu.
func (c *Catalogue) drop(slot int32) {
	for _, v := range c.views {
		v.remove(slot, &c.items.entries[slot])
	}
	c.items.remove(slot)
	c.size.Store(int64(len(c.items.slots)))
}
