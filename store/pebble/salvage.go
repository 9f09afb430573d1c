package pebble

import (
	"context"
	"errors"
	"fmt"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
)

// Salvaged is the outcome of salvaging a store.
type Salvaged struct {
	// Found is what there is in the old store.
	Found Report
	// Users and Events are those of the new store: the Found ones without damage.
	Users, Events int64
	// Items is the number of items of the catalogue in the new store.
	Items int64
}

// salvageBatch is about the number of events that are written at once.
const salvageBatch = 1000

// Salvage writes the histories that are whole from a store that no process has open, and that may
// be damaged, to a new one, and does not change the old one. Histories keep their events and
// revisions; the new store has an id of its own. A history that is known to be damaged is left out
// as a whole, since what follows from a part of it would be taken for the whole. A [Doubtful] one
// is written, and told. Damage of more than a bit to the list of tables is an error: tables that it
// does not name may hold users who were erased.
//
// The directory to write to must be empty, or there must be none. It gets its content at once, when
// all is written and has been checked. Salvage calls progress with the bytes of tables looked at
// and all, then written with the number of events written, and told with each user whose history is
// not [Whole].
func Salvage(
	ctx context.Context, dir, to string, opts Options,
	progress func(done, total int64), written func(events int64),
	told func(user string, c Condition) error,
) (*Salvaged, error) {
	opts = opts.withDefaults()
	r, err := openDamaged(dir, opts)
	if err != nil {
		return nil, err
	}
	result := &Salvaged{}
	err = engine.Build(opts.FS, to, func(building string) error {
		s, err := Open(ctx, building, opts)
		if err != nil {
			return err
		}
		c := &copying{ctx: ctx, from: r.reader, to: s, result: result, written: written}
		found, err := r.inspect(ctx, progress, func(user string, condition Condition) (err error) {
			if condition != Whole {
				err = told(user, condition)
			}
			if condition != Damaged {
				err = errors.Join(err, c.user(user))
			}
			return err
		})
		if err == nil {
			result.Found = *found
			err = errors.Join(c.write(), c.catalogue())
		}
		if err = errors.Join(err, s.Close()); err != nil {
			return err
		}
		return c.check(building, opts)
	})
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return result, nil
}

// copying writes histories to a new store.
type copying struct {
	ctx     context.Context
	from    reader
	to      *Store
	records []store.Record
	result  *Salvaged
	written func(events int64)
}

// user copies the history of a user.
func (c *copying) user(user string) error {
	c.result.Users++
	return c.from.read(c.ctx, user, 0, func(_ uint64, e store.Event) error {
		c.records = append(c.records, store.Record{User: user, Event: e})
		if len(c.records) < salvageBatch {
			return nil
		}
		return c.write()
	})
}

// write writes the collected events.
func (c *copying) write() error {
	results, err := c.to.Append(c.ctx, c.records)
	for i := range results {
		err = errors.Join(err, results[i].Err)
	}
	if err != nil {
		return fmt.Errorf("writing to the new store: %w", err)
	}
	c.result.Events += int64(len(c.records))
	c.records = c.records[:0]
	c.written(c.result.Events)
	return nil
}

// catalogue copies the items that can be read.
func (c *copying) catalogue() error {
	var items []store.Item
	write := func() error {
		if err := c.to.PutItems(c.ctx, items); err != nil {
			return fmt.Errorf("writing to the new store: %w", err)
		}
		c.result.Items += int64(len(items))
		items = items[:0]
		return nil
	}
	err := c.from.eachItem(c.ctx, "", func(item store.Item, damage error) error {
		if damage != nil {
			return nil
		}
		if items = append(items, item); len(items) < salvageBatch {
			return nil
		}
		return write()
	})
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	return write()
}

// check reads the new store back.
func (c *copying) check(dir string, opts Options) error {
	got, err := verifyWhole(c.ctx, dir, opts, func(int64, int64) {})
	if err != nil {
		return fmt.Errorf("reading the new store back: %w", err)
	}
	if !got.Whole() || got.Users != c.result.Users || got.Events != c.result.Events ||
		got.Items != c.result.Items {
		return fmt.Errorf("the new store has %d users with %d events, %d of them damaged, and %d "+
			"items, want %d users with %d events and %d items: replace the disk", got.Users,
			got.Events, got.Incomplete, got.Items, c.result.Users, c.result.Events, c.result.Items)
	}
	return nil
}
