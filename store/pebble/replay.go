package pebble

import (
	"context"
	"errors"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// loaded is what was found in an engine.
type loaded struct {
	header
	histories *recent.Histories
	editor    *recent.Editor
	erased    bool   // the journal may hold events of an erased user
	gap       bool   // rows of the journal are missing, which was accepted
	rows      uint64 // of the journal that are whole
}

// load brings the journal of an engine into memory, and compares what was found with the mark.
func load(ctx context.Context, e *engine.Engine, opts Options) (l loaded, err error) {
	l.header, err = readHeader(e.DB)
	var rows journalReader = eachJournalRow
	if opts.rest {
		if errors.Is(err, store.ErrCorrupt) {
			l.header, err = restOfHeader(e.DB), nil
		}
		rows = restOfJournal(e)
	}
	if err != nil {
		return l, err
	}
	l.histories = recent.New(2 * opts.CacheBytes)
	if err := l.replay(ctx, l.reader(e), rows, e.AcceptsLoss()); err != nil {
		return l, err
	}
	return l, e.CheckMark(l.id, l.editor.LastRow())
}

// journalReader calls fn, in order, with the journal rows whose number is greater than after.
type journalReader func(
	ctx context.Context, db *lsm.DB, after uint64, fn func(key, value []byte) error,
) error

func (l *loaded) reader(e *engine.Engine) reader {
	return reader{db: e.DB, histories: l.histories, id: l.id, branch: l.branch}
}

// replay reads the journal back into the histories, and makes their editor. All rows that have not
// been removed must be there, unless a loss is accepted.
func (l *loaded) replay(
	ctx context.Context, r reader, rows journalReader, acceptLoss bool,
) error {
	replay := r.histories.Replay(l.emptied)
	last, missing := l.emptied, uint64(0)
	err := rows(ctx, r.db, l.emptied, func(key, value []byte) error {
		number, err := row.JournalNumber(key)
		if err != nil {
			return err
		}
		missing += number - last - 1
		last = number
		if err = replay.Row(key, value); err == nil {
			l.rows++
		}
		return err
	})
	if err != nil {
		return err
	}
	if l.gap = missing != 0; l.gap && !acceptLoss {
		return &mark.LossError{Kind: mark.Gap, Commit: last, Missing: missing}
	}
	c, err := r.cursor()
	if err != nil {
		return err
	}
	defer c.close()
	head := func(user string) (store.Version, error) { return r.head(c, user) }
	l.editor, err = replay.End(l.users, head, r.oldMark)
	l.erased = replay.Erased()
	return err
}

// eachJournalRow calls fn with the rows of the journal after a number, in order. Tables of rows
// before, which have been removed, are not read.
func eachJournalRow(
	ctx context.Context, db *lsm.DB, after uint64, fn func(key, value []byte) error,
) error {
	return eachRow(ctx, db, row.JournalKey(nil, after+1), row.FirstUserKey, fn)
}

// eachRow calls fn with the rows from a key on and below another one, in order.
func eachRow(
	ctx context.Context, db *lsm.DB, lower, upper []byte, fn func(key, value []byte) error,
) error {
	it, err := db.NewIter(&lsm.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return engine.ReadError(err)
	}
	defer func() { _ = it.Close() }() // its errors are those of it.Error
	for valid := it.First(); valid; valid = it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return engine.ReadError(err)
		}
		if err := fn(it.Key(), value); err != nil {
			return err
		}
	}
	return readIfFailed(it)
}
