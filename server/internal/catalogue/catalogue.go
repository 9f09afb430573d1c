package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/store"
)

var (
	// ErrNone is returned where the store keeps no items.
	ErrNone = errors.New("catalogue: the store keeps no items")
	// ErrFull is the outcome of a write beyond the largest number of items. Nothing was written.
	ErrFull = errors.New("catalogue: as many items are there as may be")
	// ErrColumns is the outcome of a write after which numbers would have more names than they may.
	// Nothing was written.
	ErrColumns = fmt.Errorf("catalogue: numbers have more than %d names",
		event.MaxNumberNames)
	// ErrDamaged is the outcome of reading, or of changing a part of, an item that cannot be read.
	// Nothing was written.
	ErrDamaged = errors.New("catalogue: the stored item is damaged")

	// errPanic is the outcome of a write that panicked.
	errPanic = errors.New("catalogue: panic during a write")
)

// Catalogue is the catalogue of a store. It is safe for concurrent use.
type Catalogue struct {
	store  store.Items // nil: there is none
	bounds Bounds

	searching chan struct{} // holds a token while titles are looked at

	// writing holds a token while an item is written: the merge with what is there, the write to
	// the store and the index are one step.
	writing chan struct{}
	known   uint64        // revision of the store that the index has; of the holder of writing
	behind  chan struct{} // holds a token when another server has written
	// build is held while the index changes, and while a view is made of it. It is taken before mu.
	build sync.Mutex
	// size is the number of items. Without any, nothing else is looked at.
	size    atomic.Int64
	bytes   atomic.Int64 // those of the index
	damaged atomic.Int64 // items that cannot be read, and are hidden

	// mu guards the rest. It is held for short times only, as requests wait for it.
	mu      sync.RWMutex
	items   index
	views   []*View
	now     int64 // the time that all views are of
	turns   turns
	changes uint64 // of the index; see cache

	due    atomic.Int64 // the time of the first turn
	judged atomic.Int64 // what now is
}

// Open reads the catalogue of a store. A store that keeps no items has none, which nobody can
// write to. The clock of the callers says now. A catalogue beyond the bounds is taken, and does not
// grow. Damaged items are hidden, until they are written anew or deleted.
func Open(
	ctx context.Context, st store.Store, now time.Time, bounds Bounds,
) (*Catalogue, error) {
	c := &Catalogue{writing: make(chan struct{}, 1), behind: make(chan struct{}, 1),
		searching: make(chan struct{}, 1),
		items:     newIndex(), now: now.UnixMicro(), bounds: bounds}
	c.noteClock()
	var ok bool
	if c.store, ok = st.(store.Items); !ok {
		return c, nil
	}
	if err := c.read(ctx); err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	return c, nil
}

// Size returns the number of items, damaged ones included.
func (c *Catalogue) Size() int { return int(c.size.Load()) }

// Damaged returns the number of items that cannot be read, and are hidden.
func (c *Catalogue) Damaged() int { return int(c.damaged.Load()) }

// Get returns an item as the store has it. [ErrNone]: there is no catalogue. [ErrDamaged]: the item
// cannot be read.
func (c *Catalogue) Get(ctx context.Context, id string) (item store.Item, found bool, err error) {
	if c.store == nil {
		return store.Item{}, false, ErrNone
	}
	item, found, err = c.store.Item(ctx, id)
	if errors.Is(err, store.ErrCorrupt) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return item, found, err
}

// Each calls fn for the items behind an id, without damaged ones, see [store.Items]. [ErrNone]:
// there is no catalogue.
func (c *Catalogue) Each(ctx context.Context, after string, fn func(store.Item) error) error {
	if c.store == nil {
		return ErrNone
	}
	err := c.store.EachItem(ctx, after, fn)
	if _, skipped := errors.AsType[*store.DamagedItemsError](err); skipped {
		return nil
	}
	return err
}

// A Change writes items, which have different ids.
type Change struct {
	IDs []string
	// Whole is set if Apply sets every field, so that it does not matter what is there.
	Whole bool
	// Apply makes of the item that is there, or of an item with its id alone, the one to write.
	Apply func(at int, item *store.Item) error
}

// Upsert writes items and returns the number of those that were not there. [ErrNone]: there is no
// catalogue. [ErrFull], [ErrColumns], [LargeError], [ErrDamaged]: see there. Other errors are those
// of Apply and of [store.Items].
//
// Lists see the items one by one, and all of them when Upsert returns. The end of ctx ends the
// waiting and not the write, so that the index and the store agree.
func (c *Catalogue) Upsert(ctx context.Context, change Change) (int, error) {
	created := 0 // of the write, which may outlast the call
	err := c.exclusively(ctx, func(ctx context.Context) error {
		items := make([]store.Item, len(change.IDs))
		for at, id := range change.IDs {
			item, found, err := c.Get(ctx, id)
			switch {
			case change.Whole && errors.Is(err, ErrDamaged):
				item = store.Item{ID: id}
			case err != nil:
				return err
			case !found:
				item = store.Item{ID: id}
				created++
			}
			if err := change.Apply(at, &item); err != nil {
				return err
			}
			items[at] = item.Clone()
		}
		if err := c.room(items, created); err != nil {
			return err
		}
		err := c.write(ctx, func() error { return c.store.PutItems(ctx, items) })
		if err == nil {
			c.putAll(items)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return created, nil
}

// Delete removes items and returns how many were there, as [Catalogue.Upsert] otherwise.
func (c *Catalogue) Delete(ctx context.Context, ids []string) (int, error) {
	deleted := 0 // of the write, which may outlast the call
	err := c.exclusively(ctx, func(ctx context.Context) error {
		err := c.write(ctx, func() error { return c.store.DeleteItems(ctx, ids) })
		if err == nil {
			deleted = c.dropAll(ids)
		}
		return err
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

// lockedNames is about the number of names of the items that enter the index under one lock, for
// which lists wait: a fraction of a millisecond.
const lockedNames = 500

// putAll puts items into the index, a few at a time. Requires writing.
func (c *Catalogue) putAll(items []store.Item) {
	c.build.Lock()
	defer c.build.Unlock()
	for len(items) > 0 {
		n, names := 0, 0
		for n < len(items) && names < lockedNames {
			names += 8 + len(items[n].Categories) + len(items[n].Labels) + len(items[n].Numbers)
			n++
		}
		c.reserve(n)
		c.change(func() {
			for at := range n {
				c.put(&items[at], false)
			}
		})
		items = items[n:]
	}
	c.rebin()
}

// reserve makes room for n more slots. Lists do not wait for the copies of what is there, which has
// hundreds of megabytes in a large catalogue. Requires build, which alone lets the slots change.
func (c *Catalogue) reserve(n int) {
	c.mu.RLock()
	entries, views := c.items.entries, slices.Clone(c.views)
	c.mu.RUnlock()
	if cap(entries)-len(entries) < n {
		larger := slices.Grow(entries, n)
		c.mu.Lock()
		c.items.entries = larger
		c.mu.Unlock()
	}
	for _, v := range views {
		if missing := len(c.items.entries) + n - cap(v.rows); missing > 0 {
			larger := slices.Grow(v.rows, len(c.items.entries)+n-len(v.rows))
			c.mu.Lock()
			v.rows = larger
			c.mu.Unlock()
		}
	}
}

// dropAll removes items from the index, a few at a time, and returns how many were there. Requires
// writing.
func (c *Catalogue) dropAll(ids []string) (dropped int) {
	const atOnce = 16 // of up to 200 names
	c.build.Lock()
	defer c.build.Unlock()
	for some := range slices.Chunk(ids, atOnce) {
		c.change(func() {
			for _, id := range some {
				if slot, found := c.items.slots[id]; found {
					c.drop(slot)
					dropped++
				}
			}
		})
	}
	c.rebin()
	return dropped
}

// change lets lists wait while the index changes. Requires build.
func (c *Catalogue) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	do()
	c.note()
}

// put adds an item to the index, or changes it there, in all views. A damaged one has nothing but
// its id, and is hidden. Requires build and mu.
func (c *Catalogue) put(item *store.Item, damaged bool) {
	if slot, found := c.items.slots[item.ID]; found {
		c.drop(slot)
	}
	slot := c.items.add(item)
	e := &c.items.entries[slot]
	if damaged {
		e.hidden, e.damaged = true, true
		c.damaged.Add(1)
	}
	for _, v := range c.views {
		v.add(slot, e)
	}
	c.judge(slot)
	c.schedule(slot)
	c.noteClock()
}

// drop removes the item of a slot from the index and from all views. Requires build and mu.
func (c *Catalogue) drop(slot int32) {
	e := &c.items.entries[slot]
	if e.damaged {
		c.damaged.Add(-1)
	}
	for _, v := range c.views {
		v.remove(slot, e)
	}
	c.items.remove(slot)
}

// note tells how large the index is. Bins may be of more numbers than there are by now: those of
// one view count if they take more than is counted by number. Requires mu.
func (c *Catalogue) note() {
	bins := binsBytes * chunkSlots * int64(c.items.chunks)
	more := int64(0)
	for _, v := range c.views {
		more = max(more, v.binsSize()-bins)
	}
	c.size.Store(int64(len(c.items.slots)))
	c.bytes.Store(c.items.bytes + c.items.columnsBytes() + more)
}
