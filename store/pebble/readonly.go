package pebble

import (
	"context"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// Reader reads a store that no process writes to. Use [OpenReadOnly].
type Reader struct {
	engine *engine.Engine
	reader reader
}

// OpenReadOnly opens an existing store, or a checkpoint of one, to read it. Nothing in the
// directory is changed, the seal included, but for an empty lock file. The error wraps [ErrInUse]
// if another process has the store open, if only to read it.
func OpenReadOnly(dir string, opts Options) (*Reader, error) {
	opts = opts.withDefaults()
	ctx := context.Background()
	e, err := engine.OpenReadOnly(ctx, dir, opts.engine())
	if err != nil {
		return nil, fmt.Errorf("opening the store in %q: %w", dir, err)
	}
	l, err := load(ctx, e, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the store in %q: %w", dir, errors.Join(err, e.Close(false)))
	}
	return &Reader{e, reader{e.DB, l.histories}}, nil
}

// Close releases the store.
func (r *Reader) Close() error { return r.engine.Close(false) }

// Each calls fn for every event of every history, in one pass over the store: the users in no
// promised order, the events of a user one after the other by revision, from 1. The first error of
// fn ends the pass and is returned as it is. Damage is an error that wraps [store.ErrCorrupt]; the
// events before it have been passed to fn.
func (r *Reader) Each(
	ctx context.Context, fn func(user string, revision uint64, e store.Event) error,
) error {
	it, heads, err := r.reader.heads()
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }() // its errors are those of it.Error
	var end []byte
	for valid := it.First(); valid; valid = it.SeekGE(end) {
		user, head, err := headAt(it)
		if err != nil {
			return err
		}
		ofUser := func(revision uint64, e store.Event) error { return fn(user, revision, e) }
		if err := eachEvent(ctx, it, len(user), head, decoded(ofUser)); err != nil {
			return err
		}
		if newer := heads[user]; newer > head {
			if err := r.reader.read(ctx, user, head, ofUser); err != nil {
				return err
			}
		}
		delete(heads, user)
		end = row.EndKey(end, user)
	}
	if err := readIfFailed(it); err != nil {
		return err
	}
	for user := range heads { // users with nothing in rows
		ofUser := func(revision uint64, e store.Event) error { return fn(user, revision, e) }
		if err := r.reader.read(ctx, user, 0, ofUser); err != nil {
			return err
		}
	}
	return nil
}

// eachEvent calls fn with the encoded events in the rows after the head row under the iterator.
// The user id has userLen bytes.
func eachEvent(
	ctx context.Context, it *lsm.Iterator, userLen int, head uint64,
	fn func(revision uint64, event []byte) error,
) error {
	for want := uint64(1); want <= head; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !it.Next() {
			return errors.Join(readIfFailed(it), missing(want))
		}
		first, events, err := eventsAt(it, userLen)
		if err != nil {
			return fmt.Errorf("events from revision %d on: %w", want, err)
		}
		if want, err = eachOf(first, events, want, head, fn); err != nil {
			return err
		}
	}
	return nil
}

// readIfFailed is the error of an iterator that has come to its end, if it did not get there.
func readIfFailed(it *lsm.Iterator) error {
	if err := it.Error(); err != nil {
		return engine.ReadError(err)
	}
	return nil
}
