package pebble

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/pebble/internal/table"
)

// Report is the outcome of an inspection of a whole store.
type Report struct {
	// Tables and Bytes are those that were looked at.
	Tables int
	Bytes  int64
	// Damaged are the names of the damaged tables.
	Damaged []string
	// Users is the number of users who were found, Incomplete that of those whose history is not
	// whole, and Events the events that can be read.
	Users, Incomplete, Events int64
	// Unnamed is the number of damaged ranges of keys. Users whose rows all stand in one of them
	// were not found.
	Unnamed int
}

// Whole reports whether nothing is damaged.
func (r *Report) Whole() bool { return len(r.Damaged) == 0 && r.Incomplete == 0 }

// Verify checks each block of each table, and each history, in a store that no process has open,
// without changing it. It calls progress with the bytes of tables looked at and all, and incomplete
// with each user whose history is not whole. A store that cannot be opened to read, because its log
// or its own rows are damaged, is an error that wraps [store.ErrCorrupt] or is a [LossError].
func Verify(
	ctx context.Context, dir string, opts Options,
	progress func(done, total int64), incomplete func(user string) error,
) (*Report, error) {
	r, err := OpenReadOnly(dir, opts)
	if err != nil {
		return nil, err
	}
	report, err := r.inspect(ctx, progress, func(user string, _ int64, damage error) error {
		if damage == nil {
			return nil
		}
		return incomplete(user)
	})
	return report, errors.Join(err, r.Close())
}

// inspection is a look at a whole store.
type inspection struct {
	*Reader
	report Report
	fn     func(user string, events int64, damage error) error
	seen   map[string]bool // users looked at out of the order of keys
	before string          // the last user looked at in the order of keys
}

// inspect calls fn for every user who can be found, with the events from the first on that can be
// read, and the damage that ended the reading.
func (r *Reader) inspect(
	ctx context.Context, progress func(done, total int64),
	fn func(user string, events int64, damage error) error,
) (*Report, error) {
	i := &inspection{Reader: r, fn: fn, seen: map[string]bool{}}
	tables, err := r.engine.Tables()
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, t := range tables {
		total += t.Bytes
	}
	var damaged []table.Span
	for _, t := range tables {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		spans, err := i.table(t)
		if err != nil {
			return nil, err
		}
		damaged = append(damaged, spans...)
		progress(i.report.Bytes, total)
	}
	i.report.Unnamed = len(damaged)
	if err := i.within(ctx, tables, damaged); err != nil {
		return nil, err
	}
	if err := i.without(ctx, damaged); err != nil {
		return nil, err
	}
	return &i.report, nil
}

// table looks at one table and returns the damaged ranges of keys.
func (i *inspection) table(t engine.Table) ([]table.Span, error) {
	i.report.Tables++
	i.report.Bytes += t.Bytes
	fs := i.engine.FS()
	err := table.Whole(fs, t.Path)
	if err == nil {
		return nil, nil
	}
	if !engine.Damaged(err) {
		return nil, fmt.Errorf("reading a table: %w", err)
	}
	i.report.Damaged = append(i.report.Damaged, t.Name)
	every := func([]byte) error { return nil }
	spans, err := table.Keys(fs, t.Path, table.Span{}, every)
	if err != nil { // its index
		upper := append(bytes.Clone(t.Largest), 0)
		return []table.Span{{Lower: t.Smallest, Upper: upper}}, nil
	}
	for n := range spans {
		spans[n].Lower = slices.MaxFunc([][]byte{spans[n].Lower, t.Smallest}, bytes.Compare)
	}
	return spans, nil
}

// within looks at the users with a row in a damaged range that stands in another table.
func (i *inspection) within(
	ctx context.Context, tables []engine.Table, damaged []table.Span,
) error {
	for _, span := range damaged {
		for _, t := range tables {
			if bytes.Compare(t.Largest, span.Lower) < 0 ||
				span.Upper != nil && bytes.Compare(t.Smallest, span.Upper) >= 0 {
				continue
			}
			_, err := table.Keys(i.engine.FS(), t.Path, span, func(key []byte) error {
				return i.userOf(ctx, key)
			})
			if err != nil && !engine.Damaged(err) {
				return err
			}
		}
	}
	return nil
}

// userOf looks at the user of a row.
func (i *inspection) userOf(ctx context.Context, key []byte) error {
	if bytes.Compare(key, row.FirstUserKey) < 0 || len(key) < 3 {
		return nil
	}
	n := int(binary.BigEndian.Uint16(key))
	if len(key) < n+3 {
		return nil
	}
	user := string(key[2 : n+2])
	if i.seen[user] {
		return nil
	}
	i.seen[user] = true
	return i.user(ctx, user, false)
}

// without looks at the users with a row outside of the damaged ranges.
func (i *inspection) without(ctx context.Context, damaged []table.Span) error {
	damaged = slices.SortedFunc(slices.Values(damaged), func(a, b table.Span) int {
		return cmp.Or(bytes.Compare(a.Lower, b.Lower), bytes.Compare(a.Upper, b.Upper))
	})
	it, heads, err := i.reader.heads()
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }() // its errors are those of it.Error
	lower := row.FirstUserKey
	for _, span := range damaged {
		// The key before a damaged block is left out: who asks for it reads on into the block.
		upper := span.Lower
		if bytes.Compare(lower, upper) < 0 {
			if err := i.between(ctx, it, lower, upper, heads); err != nil {
				return err
			}
		}
		if lower = slices.MaxFunc([][]byte{lower, span.Upper}, bytes.Compare); span.Upper == nil {
			return i.journal(ctx, heads)
		}
	}
	if err := i.between(ctx, it, lower, nil, heads); err != nil {
		return err
	}
	return i.journal(ctx, heads)
}

// between looks at the users with a row from a key on and below another.
func (i *inspection) between(
	ctx context.Context, it *lsm.Iterator, lower, upper []byte, heads map[string]uint64,
) error {
	it.SetBounds(lower, upper)
	for valid := it.First(); valid; valid = it.Next() {
		n := int(binary.BigEndian.Uint16(it.Key()))
		user := string(it.Key()[2 : n+2])
		if user == i.before || i.seen[user] {
			continue
		}
		i.before = user
		delete(heads, user)
		if err := i.user(ctx, user, true); err != nil {
			return err
		}
	}
	return readIfFailed(it)
}

// journal looks at the users with events in the journal who have not been looked at.
func (i *inspection) journal(ctx context.Context, heads map[string]uint64) error {
	for user := range heads {
		if !i.seen[user] {
			if err := i.user(ctx, user, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// user reads the history of a user. There must be one if there are rows that no erasure removed.
func (i *inspection) user(ctx context.Context, user string, rows bool) error {
	events := int64(0)
	err := i.reader.read(ctx, user, 0, func(uint64, store.Event) error { events++; return nil })
	if rows && err == nil && events == 0 {
		err = missing(1)
	}
	switch {
	case errors.Is(err, store.ErrCorrupt):
		i.report.Incomplete++
	case err != nil:
		return err
	case events == 0:
		return nil // erased
	}
	i.report.Users++
	i.report.Events += events
	return i.fn(user, events, err)
}
