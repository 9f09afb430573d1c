package pebble

import (
	"context"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// replay reads the journal back into the histories, and returns their editor. erased says that the
// journal may hold events of an erased user.
func replay(ctx context.Context, r reader) (editor *recent.Editor, erased bool, err error) {
	replay := r.histories.Replay()
	if err := eachJournalRow(ctx, r.db, replay.Row); err != nil {
		return nil, false, err
	}
	c, err := r.cursor()
	if err != nil {
		return nil, false, err
	}
	defer c.close()
	editor, err = replay.End(c.head)
	return editor, replay.Erased(), err
}

// eachJournalRow calls fn with the rows of the journal, in order.
func eachJournalRow(ctx context.Context, db *lsm.DB, fn func(key, value []byte) error) error {
	it, err := db.NewIter(&lsm.IterOptions{
		LowerBound: row.JournalPrefix, UpperBound: row.FirstUserKey,
	})
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
