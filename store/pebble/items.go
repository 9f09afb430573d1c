package pebble

import (
	"context"
	"errors"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

var (
	_ store.Items = (*Store)(nil)
	_ store.Items = (*waiting)(nil)
)

// PutItems implements [store.Items]. The rows go with the group of the committer: one commit, one
// sync, and the outcomes of Append.
func (s *Store) PutItems(ctx context.Context, items []store.Item) error {
	if err := store.ValidateItems(items); err != nil {
		return err
	}
	kept := make([]store.Item, len(items))
	bytes := 0
	for at := range items {
		kept[at] = items[at].Clone()
		bytes += 2 * len(row.EncodeItem(nil, row.ItemKey(nil, kept[at].ID), &kept[at]))
	}
	return s.writeItems(ctx, int64(bytes), func(b *lsm.Batch) error {
		var key, value []byte
		for at := range kept {
			key = row.ItemKey(key, kept[at].ID)
			value = row.EncodeItem(value, key, &kept[at])
			if err := b.Set(key, value, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteItems implements [store.Items].
func (s *Store) DeleteItems(ctx context.Context, ids []string) error {
	keys := make([][]byte, 0, len(ids))
	for _, id := range ids {
		if row.Possible(id) {
			keys = append(keys, row.ItemKey(nil, id))
		}
	}
	return s.writeItems(ctx, 0, func(b *lsm.Batch) error {
		for _, key := range keys {
			if err := b.Delete(key, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeItems lets the committer add rows to the batch of its group, and waits until they are
// durable. bytes is about the room that they take.
func (s *Store) writeItems(
	ctx context.Context, bytes int64, fill func(*lsm.Batch) error,
) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	if err := s.engine.Err(); err != nil {
		return err
	}
	if err := s.engine.Admit(bytes); err != nil {
		return err
	}
	return s.submit(ctx, &call{items: fill, done: make(chan error, 1)})
}

// Item implements [store.Items].
func (s *Store) Item(ctx context.Context, id string) (item store.Item, found bool, err error) {
	if err := s.calls.Begin(ctx); err != nil {
		return store.Item{}, false, err
	}
	defer s.calls.Done()
	if !row.Possible(id) {
		return store.Item{}, false, nil
	}
	key := row.ItemKey(nil, id)
	err = get(s.reader.db, key, func(value []byte) (err error) {
		item, err = row.DecodeItem(key, value)
		return err
	})
	if errors.Is(err, lsm.ErrNotFound) {
		return store.Item{}, false, nil
	}
	return item, err == nil, err
}

// EachItem implements [store.Items].
func (s *Store) EachItem(ctx context.Context, after string, fn func(store.Item) error) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	return s.reader.eachGoodItem(ctx, after, fn)
}

// eachGoodItem is EachItem of a store that is open.
func (r reader) eachGoodItem(
	ctx context.Context, after string, fn func(store.Item) error,
) error {
	var damaged []string
	err := r.eachItem(ctx, after, func(item store.Item, damage error) error {
		if damage != nil {
			damaged = append(damaged, item.ID)
			return nil
		}
		return fn(item)
	})
	if err == nil && len(damaged) > 0 {
		return &store.DamagedItemsError{IDs: damaged}
	}
	return err
}

// ItemsRevision implements [store.Items].
func (s *Store) ItemsRevision(ctx context.Context) (uint64, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	return s.itemWrites.Load(), nil
}

// eachItem calls fn for the items with ids after the given one, in order, and for each damaged row,
// whose item has the id alone.
// The first error of fn ends it. Damage that hides the rows behind it ends it too.
func (r reader) eachItem(
	ctx context.Context, after string, fn func(item store.Item, damage error) error,
) error {
	lower := row.ItemPrefix
	if after != "" {
		lower = append(row.ItemKey(nil, after), 0)
	}
	return eachRow(ctx, r.db, lower, row.ItemEnd, func(key, value []byte) error {
		item, damage := row.DecodeItem(key, value)
		if damage != nil {
			item = store.Item{ID: row.ItemID(key)}
		}
		return fn(item, damage)
	})
}

// PutItems implements [store.Items].
func (w *waiting) PutItems(ctx context.Context, items []store.Item) error {
	return w.write(ctx, func(s *Store) error { return s.PutItems(ctx, items) })
}

// DeleteItems implements [store.Items].
func (w *waiting) DeleteItems(ctx context.Context, ids []string) error {
	return w.write(ctx, func(s *Store) error { return s.DeleteItems(ctx, ids) })
}

// ItemsRevision implements [store.Items].
func (w *waiting) ItemsRevision(ctx context.Context) (n uint64, err error) {
	err = w.read(func(s *Store) error { n, err = s.ItemsRevision(ctx); return err })
	return n, err
}

// Item implements [store.Items].
func (w *waiting) Item(
	ctx context.Context, id string,
) (item store.Item, found bool, err error) {
	err = w.read(func(s *Store) error { item, found, err = s.Item(ctx, id); return err })
	return item, found, err
}

// EachItem implements [store.Items].
func (w *waiting) EachItem(ctx context.Context, after string, fn func(store.Item) error) error {
	return w.read(func(s *Store) error { return s.EachItem(ctx, after, fn) })
}
