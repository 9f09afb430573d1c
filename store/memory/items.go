package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/gsimc/gsimc/store"
)

// catalogue holds items by their ids. What an item refers to is never changed.
type catalogue struct {
	items  map[string]store.Item
	sorted []string // the ids in order; nil: to be made

	revision uint64
}

var _ store.Items = (*Store)(nil)

// What an item takes besides its strings, and what numbers of it do, about.
const (
	itemBytes    = 168
	numbersBytes = 300
	numberBytes  = 40
)

func itemSize(i *store.Item) int64 {
	n := itemBytes + len(i.ID) + len(i.Title) + 4*len(i.Embedding)
	if len(i.Numbers) > 0 {
		n += numbersBytes
		for name := range i.Numbers {
			n += numberBytes + len(name)
		}
	}
	for _, names := range [][]string{i.Categories, i.Labels} {
		for _, name := range names {
			n += 16 + len(name)
		}
	}
	return int64(n)
}

// PutItems implements store.Items.
func (s *Store) PutItems(ctx context.Context, items []store.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := store.ValidateItems(items); err != nil {
		return err
	}
	for at := range items {
		if !s.dropItem(items[at].ID) {
			s.catalogue.sorted = nil
		}
		kept := items[at].Clone()
		s.bytes += itemSize(&kept)
		s.catalogue.items[kept.ID] = kept
	}
	s.catalogue.revision++
	return nil
}

// DeleteItems implements store.Items.
func (s *Store) DeleteItems(ctx context.Context, ids []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	for _, id := range ids {
		if s.dropItem(id) {
			s.catalogue.sorted = nil
		}
	}
	s.catalogue.revision++
	return nil
}

// ItemsRevision implements store.Items.
func (s *Store) ItemsRevision(ctx context.Context) (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.catalogue.revision, s.check(ctx)
}

// dropItem removes an item. Requires s.mu.
func (s *Store) dropItem(id string) (found bool) {
	old, found := s.catalogue.items[id]
	if found {
		s.bytes -= itemSize(&old)
		delete(s.catalogue.items, id)
	}
	return found
}

// Item implements store.Items.
func (s *Store) Item(ctx context.Context, id string) (item store.Item, found bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return store.Item{}, false, err
	}
	if item, found = s.catalogue.items[id]; found {
		item = item.Clone()
	}
	return item, found, nil
}

// EachItem implements store.Items.
func (s *Store) EachItem(ctx context.Context, after string, fn func(store.Item) error) error {
	for {
		items, err := s.itemsAfter(ctx, after)
		if err != nil || len(items) == 0 {
			return err
		}
		for at := range items {
			if err := fn(items[at].Clone()); err != nil {
				return err
			}
		}
		after = items[len(items)-1].ID
	}
}

// itemsAtOnce is the number of items that are taken under one lock.
const itemsAtOnce = 256

// itemsAfter returns the next items behind an id, in order.
func (s *Store) itemsAfter(ctx context.Context, after string) ([]store.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	c := &s.catalogue
	if c.sorted == nil {
		c.sorted = slices.Sorted(maps.Keys(c.items))
	}
	from, found := slices.BinarySearch(c.sorted, after)
	if found {
		from++
	}
	ids := c.sorted[from:]
	ids = ids[:min(len(ids), itemsAtOnce)]
	items := make([]store.Item, 0, len(ids))
	for _, id := range ids {
		items = append(items, c.items[id])
	}
	return items, nil
}
