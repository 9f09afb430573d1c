package catalogue

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gsimc/gsimc/store"
)

// poll is the interval at which the store is asked whether another server has written.
const poll = time.Second

const (
	// rest is the rest after a reading of the catalogue, in times of its length.
	rest = 10
	// retry is the rest after a reading that failed.
	retry = 30 * time.Second
)

// Watch takes over what other servers write to the store, within about a second, until ctx ends. It
// calls failed with the first of several errors in a row. It also makes the bins that writes have
// left to be made.
func (c *Catalogue) Watch(ctx context.Context, failed func(error)) {
	if c.store == nil {
		return
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-tick.C:
		case <-c.behind:
		case <-ctx.Done():
			return
		}
		wait, err := c.round(ctx)
		if err != nil {
			wait = max(wait, retry)
			if !failing && ctx.Err() == nil {
				failed(err)
			}
		}
		failing = err != nil
		tick.Reset(wait)
	}
}

// round refreshes the catalogue and makes bins, for Watch. It returns how long Watch then leaves
// the store alone, by the time of the refresh: bins are made without the store.
func (c *Catalogue) round(ctx context.Context) (wait time.Duration, err error) {
	begun := time.Now()
	err = c.Refresh(ctx)
	wait = max(poll, rest*time.Since(begun))
	c.build.Lock()
	defer c.build.Unlock()
	for _, v := range c.opened() {
		if ctx.Err() != nil {
			break
		}
		v.rebin()
	}
	return wait, err
}

// Refresh brings the index to what the store has. It costs next to nothing if no other server has
// written; else it reads the whole catalogue, and changes what differs.
func (c *Catalogue) Refresh(ctx context.Context) error {
	if c.store == nil {
		return nil
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.writing }()
	revision, err := c.store.ItemsRevision(ctx)
	if err != nil || revision == c.known {
		return err
	}
	return c.read(ctx)
}

// write makes a call that writes to the store, and notices whether another server has written too.
// Requires writing.
func (c *Catalogue) write(ctx context.Context, call func() error) error {
	before, err := c.store.ItemsRevision(ctx)
	if err != nil {
		return err
	}
	err = call()
	after, errAfter := c.store.ItemsRevision(ctx)
	if err == nil && errAfter == nil && before == c.known && after == before+1 {
		c.known = after
		return nil
	}
	select { // the index is behind, or the outcome is open
	case c.behind <- struct{}{}:
	default:
	}
	return err
}

// readAtOnce is the number of items that wait to be put into the index.
const readAtOnce = 256

// read brings the index to what the store has, by reading all of it. Requires writing, unless
// nobody else knows c.
func (c *Catalogue) read(ctx context.Context) error {
	revision, err := c.store.ItemsRevision(ctx)
	if err != nil {
		return err
	}
	met := make([]bool, len(c.items.entries)) // by slot; an item in a slot behind is new
	changed := make([]store.Item, 0, readAtOnce)
	err = c.store.EachItem(ctx, "", func(item store.Item) error {
		slot, found := c.items.slots[item.ID]
		if found && int(slot) < len(met) {
			met[slot] = true
		}
		if found && c.items.has(slot, &item) {
			return nil
		}
		if changed = append(changed, item); len(changed) == readAtOnce {
			c.take(changed, met)
			changed = changed[:0]
		}
		return nil
	})
	c.take(changed, met)
	damaged, skipped := errors.AsType[*store.DamagedItemsError](err)
	if skipped {
		c.takeDamaged(damaged.IDs, met)
	} else if err != nil {
		return err
	}
	var gone []string
	for slot, met := range met {
		if id := c.items.entries[slot].id; id != "" && !met {
			gone = append(gone, id)
		}
	}
	c.dropAll(gone)
	c.known = revision
	return nil
}

// take puts items into the index, and notes their slots, which may be others than before.
func (c *Catalogue) take(items []store.Item, met []bool) {
	c.putAll(items)
	for at := range items {
		if slot := c.items.slots[items[at].ID]; int(slot) < len(met) {
			met[slot] = true
		}
	}
}

// takeDamaged hides items that cannot be read.
func (c *Catalogue) takeDamaged(ids []string, met []bool) {
	c.build.Lock()
	defer c.build.Unlock()
	for _, id := range ids {
		c.change(func() { c.put(&store.Item{ID: id}, true) })
		if slot := c.items.slots[id]; int(slot) < len(met) {
			met[slot] = true
		}
	}
}

// has tells whether the item of a slot is the given one.
func (x *index) has(slot int32, item *store.Item) bool {
	e := &x.entries[slot]
	if e.damaged || e.hidden != item.Hidden || !e.shownBetween(item) ||
		e.title != folded(item.Title) || !slices.Equal(x.embeddings[slot], item.Embedding) ||
		!x.hasNumbers(slot, item.Numbers) ||
		len(e.terms) != len(item.Categories)+len(item.Labels) {
		return false
	}
	at := 0
	for n := range namesOf(item) {
		if x.terms.names[e.terms[at]] != n {
			return false
		}
		at++
	}
	return true
}
