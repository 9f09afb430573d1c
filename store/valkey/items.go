package valkey

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/redis/rueidis"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/valkey/internal/cluster"
)

// A packed item is: 1 if it is hidden and 0 else, From and Until (microseconds, 8 bytes each;
// noBound: none), title (length, 2 bytes), number of categories (1 byte) and each (a byte with its
// length less one, and the text), labels likewise, and what store.Item.AppendMore appends. Numbers
// are little endian.
const (
	noBound       = math.MinInt64
	itemHeadBytes = 1 + 8 + 8 + 2
)

func packItem(i *store.Item) string {
	b := make([]byte, 1, itemHeadBytes+len(i.Title)+64)
	if i.Hidden {
		b[0] = 1
	}
	for _, t := range []time.Time{i.From, i.Until} {
		bound := int64(noBound)
		if !t.IsZero() {
			bound = t.UnixMicro()
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(bound))
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(i.Title)))
	b = append(b, i.Title...)
	for _, names := range [][]string{i.Categories, i.Labels} {
		b = append(b, byte(len(names)))
		for _, name := range names {
			b = append(append(b, byte(len(name)-1)), name...)
		}
	}
	return string(i.AppendMore(b))
}

var errItem = fmt.Errorf("%w: an item of the catalogue cannot be read", store.ErrCorrupt)

func unpackItem(id, p string) (store.Item, error) {
	i := store.Item{ID: id}
	if len(p) < itemHeadBytes {
		return i, errItem
	}
	head := []byte(p[:itemHeadBytes])
	i.Hidden = head[0] == 1
	for at, t := range []*time.Time{&i.From, &i.Until} {
		if bound := int64(binary.LittleEndian.Uint64(head[1+8*at:])); bound != noBound {
			*t = time.UnixMicro(bound).UTC()
		}
	}
	n, rest := int(binary.LittleEndian.Uint16(head[17:])), p[itemHeadBytes:]
	if len(rest) < n {
		return i, errItem
	}
	i.Title, rest = rest[:n], rest[n:]
	for _, names := range []*[]string{&i.Categories, &i.Labels} {
		if rest == "" {
			return i, errItem
		}
		count := int(rest[0])
		rest = rest[1:]
		for range count {
			if rest == "" || len(rest) < 2+int(rest[0]) {
				return i, errItem
			}
			n := 1 + int(rest[0])
			*names, rest = append(*names, rest[1:1+n]), rest[1+n:]
		}
	}
	if !i.ReadMore([]byte(rest)) {
		return i, errItem
	}
	return i, nil
}

// PutItems implements store.Items.
func (s *Store) PutItems(ctx context.Context, items []store.Item) error {
	if err := store.ValidateItems(items); err != nil {
		return err
	}
	name := token()
	args := make([]string, 0, 1+2*len(items))
	args = append(args, name)
	for at := range items {
		args = append(args, items[at].ID, packItem(&items[at]))
	}
	return s.change(ctx, "put_items", s.keys.catalogue(name), args)
}

// DeleteItems implements store.Items.
func (s *Store) DeleteItems(ctx context.Context, ids []string) error {
	name := token()
	return s.change(ctx, "delete_items", s.keys.catalogue(name), append([]string{name}, ids...))
}

// change is a call of a function whose answer says nothing.
func (s *Store) change(ctx context.Context, name string, keys, args []string) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	call := &cluster.Call{Function: function(name), Keys: keys, Args: args}
	s.cluster.Write(ctx, call)
	return call.Err
}

// ask is a call of a function that changes nothing.
func (s *Store) ask(
	ctx context.Context, name string, keys []string, args ...string,
) (reply rueidis.RedisMessage, err error) {
	if err := s.calls.Begin(ctx); err != nil {
		return reply, err
	}
	defer s.calls.Done()
	return s.cluster.Read(ctx, function(name), keys, args...)
}

// Item implements store.Items.
func (s *Store) Item(ctx context.Context, id string) (item store.Item, found bool, err error) {
	reply, err := s.ask(ctx, "item", s.keys.catalogue("")[:1], id)
	if err != nil || reply.IsNil() {
		return store.Item{}, false, err
	}
	text, err := reply.ToString()
	if err != nil {
		return store.Item{}, false, errAnswer
	}
	item, err = unpackItem(id, text)
	return item, err == nil, err
}

// EachItem implements store.Items.
func (s *Store) EachItem(ctx context.Context, after string, fn func(store.Item) error) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	var damaged []string
	for {
		parts, err := s.itemsAfter(ctx, after)
		if err != nil {
			return err
		}
		if len(parts) == 0 {
			break
		}
		for at := 0; at < len(parts); at += 2 {
			if err := ctx.Err(); err != nil {
				return err
			}
			after = parts[at]
			item, err := unpackItem(after, parts[at+1])
			if err != nil {
				damaged = append(damaged, after)
				continue
			}
			if err := fn(item); err != nil {
				return err
			}
		}
	}
	if damaged != nil {
		return &store.DamagedItemsError{IDs: damaged}
	}
	return nil
}

// itemsAtOnce is the number of items that are read in one round trip.
const itemsAtOnce = "256"

// itemsAfter returns the next ids behind an id, each followed by its packed item.
func (s *Store) itemsAfter(ctx context.Context, after string) ([]string, error) {
	from := "-" // before all ids
	if after != "" {
		from = "(" + after
	}
	reply, err := s.cluster.Read(ctx, function("items_after"), s.keys.catalogue("")[:2], from,
		itemsAtOnce)
	if err != nil {
		return nil, err
	}
	parts, err := reply.AsStrSlice()
	if err != nil || len(parts)%2 != 0 {
		return nil, errAnswer
	}
	return parts, nil
}

// ItemsRevision implements store.Items.
func (s *Store) ItemsRevision(ctx context.Context) (uint64, error) {
	reply, err := s.ask(ctx, "items_revision", s.keys.catalogue("")[2:3])
	if err != nil {
		return 0, err
	}
	n, err := reply.AsUint64()
	if err != nil {
		return 0, errAnswer
	}
	return n, nil
}
