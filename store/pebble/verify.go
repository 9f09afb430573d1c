package pebble

import (
	"context"
	"errors"
	"fmt"

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
	// Items is the number of items of the catalogue, DamagedItems that of those that cannot be
	// read.
	Items, DamagedItems int64
	// Unnamed is the number of damaged ranges of keys. Users whose rows all stand in one of them
	// were not found.
	Unnamed int
}

// Whole reports whether nothing is damaged.
func (r *Report) Whole() bool {
	return len(r.Damaged) == 0 && r.Incomplete == 0 && r.DamagedItems == 0
}

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
}

// inspect calls fn for every user who can be found, with the events from the first on that can be
// read, and the damage that ended the reading.
func (r *Reader) inspect(
	ctx context.Context, progress func(done, total int64),
	fn func(user string, events int64, damage error) error,
) (*Report, error) {
	i := &inspection{Reader: r, fn: fn}
	damaged, err := i.tables(ctx, progress)
	if err != nil {
		return nil, err
	}
	w, err := r.reader.walk(r.engine)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.visit = func(user string, at *lsm.Iterator) error { return i.user(ctx, user, at != nil) }
	if _, err := w.leaveOut(ctx, damaged, row.FirstUserKey); err != nil {
		return nil, err
	}
	err = w.users(ctx, w.visit)
	if _, ok := errors.AsType[*store.SkippedError](err); err != nil && !ok {
		return nil, err
	}
	i.report.Unnamed = len(w.damaged)
	return &i.report, i.items(ctx)
}

// tables looks at each table and returns the damaged ranges of keys.
func (i *inspection) tables(
	ctx context.Context, progress func(done, total int64),
) (damaged []table.Span, err error) {
	tables, err := i.engine.Tables()
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, t := range tables {
		total += t.Bytes
	}
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
	return damaged, nil
}

// items reads the catalogue. Damage that hides the items behind it counts as one of them.
func (i *inspection) items(ctx context.Context) error {
	err := i.reader.eachItem(ctx, "", func(_ store.Item, damage error) error {
		if damage != nil {
			i.report.DamagedItems++
		} else {
			i.report.Items++
		}
		return nil
	})
	if errors.Is(err, store.ErrCorrupt) {
		i.report.DamagedItems++
		return nil
	}
	return err
}

// table looks at one table and returns the damaged ranges of keys.
func (i *inspection) table(t engine.Table) ([]table.Span, error) {
	i.report.Tables++
	i.report.Bytes += t.Bytes
	err := table.Whole(i.engine.FS(), t.Path)
	if err == nil {
		return nil, nil
	}
	if !engine.Damaged(err) {
		return nil, fmt.Errorf("reading a table: %w", err)
	}
	i.report.Damaged = append(i.report.Damaged, t.Name)
	return damagedSpans(i.engine.FS(), t)
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
