package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gsimc/gsimc/store"
)

// pageItems is the number of items that are read at once.
const pageItems = 256

// PutItems implements store.Items. A call that is repeated over a failover may raise the revision
// of the catalogue twice.
func (s *Store) PutItems(ctx context.Context, items []store.Item) error {
	if err := store.ValidateItems(items); err != nil {
		return err
	}
	last := map[string]int{}
	for at := range items {
		last[items[at].ID] = at
	}
	var ids, titles, categories, labels, more [][]byte
	var hidden []bool
	var from, until []*int64
	for at := range items {
		i := &items[at]
		if last[i.ID] != at {
			continue
		}
		ids, titles = append(ids, []byte(i.ID)), append(titles, []byte(i.Title))
		categories = append(categories, packNames(i.Categories))
		labels, hidden = append(labels, packNames(i.Labels)), append(hidden, i.Hidden)
		from, until = append(from, micros(i.From)), append(until, micros(i.Until))
		more = append(more, i.AppendMore([]byte{}))
	}
	return s.transact(ctx, true, func(ctx context.Context, tx pgx.Tx) error {
		// The count is first: it lets writers of items wait for each other.
		if _, err := tx.Exec(ctx, s.sql.countItems); err != nil || len(ids) == 0 {
			return err
		}
		_, err := tx.Exec(ctx, s.sql.putItems, ids, titles, categories, labels, hidden, from, until,
			more)
		return err
	})
}

// DeleteItems implements store.Items.
func (s *Store) DeleteItems(ctx context.Context, ids []string) error {
	all := byteSlices(ids)
	return s.transact(ctx, true, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, s.sql.countItems); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, s.sql.deleteItems, all)
		return err
	})
}

// Item implements store.Items.
func (s *Store) Item(ctx context.Context, id string) (item store.Item, found bool, err error) {
	err = s.ask(ctx, func(conn *pgxpool.Conn) (err error) {
		item, err = scanItem(conn.QueryRow(ctx, s.sql.item, []byte(id)))
		if found = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil || !found {
		return store.Item{}, false, err
	}
	return item, true, nil
}

// EachItem implements store.Items.
func (s *Store) EachItem(ctx context.Context, after string, fn func(store.Item) error) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	var damaged []string
	for {
		items, err := s.itemsAfter(ctx, after)
		if err != nil {
			return err
		}
		if len(items) == 0 {
			break
		}
		for _, item := range items {
			after = item.ID
			if item.damaged {
				damaged = append(damaged, after)
			} else if err := fn(item.Item); err != nil {
				return err
			}
		}
	}
	if damaged != nil {
		return &store.DamagedItemsError{IDs: damaged}
	}
	return nil
}

// readItem is an item, or the id of a damaged one.
type readItem struct {
	store.Item
	damaged bool
}

func (s *Store) itemsAfter(ctx context.Context, after string) (items []readItem, err error) {
	err = s.read(ctx, func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, s.sql.items, []byte(after), pageItems)
		if err != nil {
			return err
		}
		items, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (readItem, error) {
			item, err := scanItem(r)
			if errors.Is(err, store.ErrCorrupt) {
				return readItem{item, true}, nil
			}
			return readItem{item, false}, err
		})
		return err
	})
	return items, err
}

// ItemsRevision implements store.Items.
func (s *Store) ItemsRevision(ctx context.Context) (uint64, error) {
	var revision int64
	err := s.ask(ctx, func(conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, s.sql.itemsRevision).Scan(&revision)
	})
	return uint64(revision), err
}

// scanItem reads an item. The error wraps store.ErrCorrupt if it is damaged; the id is right then.
func scanItem(r pgx.Row) (store.Item, error) {
	var id, title, categories, labels, more []byte
	var hidden bool
	var from, until *int64
	err := r.Scan(&id, &title, &categories, &labels, &hidden, &from, &until, &more)
	if err != nil {
		return store.Item{}, err
	}
	item := store.Item{ID: string(id), Title: string(title), Hidden: hidden, From: fromMicros(from),
		Until: fromMicros(until)}
	var ok, also bool
	item.Categories, ok = unpackNames(categories)
	item.Labels, also = unpackNames(labels)
	if !ok || !also || !item.ReadMore(more) {
		return store.Item{ID: item.ID}, fmt.Errorf("%w: an item of the catalogue", store.ErrCorrupt)
	}
	return item, nil
}

// packNames puts names behind each other, each with its length before it.
func packNames(names []string) []byte {
	packed := []byte{}
	for _, name := range names {
		packed = binary.AppendUvarint(packed, uint64(len(name)))
		packed = append(packed, name...)
	}
	return packed
}

func unpackNames(packed []byte) (names []string, ok bool) {
	for len(packed) > 0 {
		n, width := binary.Uvarint(packed)
		if width <= 0 || n > uint64(len(packed)-width) {
			return nil, false
		}
		packed = packed[width:]
		names, packed = append(names, string(packed[:n])), packed[n:]
	}
	return names, true
}

// micros is a time as the table keeps it.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMicro())
}

func fromMicros(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return time.UnixMicro(*n).UTC()
}

func byteSlices(texts []string) [][]byte {
	all := make([][]byte, len(texts))
	for i, text := range texts {
		all[i] = []byte(text)
	}
	return all
}
