package pebble

import (
	"context"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
)

// Reader reads a store that no process writes to. Use [OpenReadOnly].
type Reader struct {
	engine  *engine.Engine
	reader  reader
	header  header
	commit  uint64 // number of the last one
	users   int64  // as of it; negative: not known
	journal uint64 // rows
	left    *left  // of a damaged store; else nil
}

// OpenReadOnly opens an existing store, or a checkpoint of one, to read it. Nothing in the
// directory is changed, the seal included, but for an empty lock file. The error wraps [ErrInUse]
// if another process has the store open, if only to read it.
func OpenReadOnly(dir string, opts Options) (*Reader, error) {
	e, l, err := openToRead(context.Background(), dir, opts.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("opening the store in %q: %w", dir, err)
	}
	return &Reader{engine: e, reader: l.reader(e), header: l.header, commit: l.editor.LastRow(),
		users: l.editor.Users(), journal: l.rows}, nil
}

// openToRead opens an engine to read it, and brings its journal into memory.
func openToRead(ctx context.Context, dir string, opts Options) (*engine.Engine, loaded, error) {
	e, err := engine.OpenReadOnly(ctx, dir, opts.engine())
	if err != nil {
		return nil, loaded{}, err
	}
	l, err := load(ctx, e, opts)
	if err != nil {
		return nil, l, errors.Join(err, e.Close(false))
	}
	return e, l, nil
}

// Close releases the store.
func (r *Reader) Close() error { return r.engine.Close(false) }

// Each calls fn for every event of every history, in one pass over the store: the users in no
// promised order, the events of a user one after the other by revision, from 1. The first error of
// fn ends the pass and is returned as it is. Of a damaged history the events before the damage are
// passed to fn. Damage does not end the pass: after everything else the error is a
// [*store.SkippedError].
func (r *Reader) Each(
	ctx context.Context, fn func(user string, revision uint64, e store.Event) error,
) error {
	w, err := r.reader.walk(r.engine)
	if err != nil {
		return err
	}
	defer w.close()
	return w.users(ctx, func(user string, at *lsm.Iterator) error {
		var last uint64
		var ended error // by fn
		ofUser := func(revision uint64, e store.Event) error {
			last, ended = revision, fn(user, revision, e)
			return ended
		}
		err := r.history(ctx, user, at, w.heads[user].Revision, ofUser)
		if ended == nil && errors.Is(err, store.ErrCorrupt) {
			err = r.reader.read(ctx, user, last, ofUser) // looks rows up by their keys if need be
			if err == nil && last == 0 && at != nil {
				err = missing(1)
			}
		}
		if ended == nil && errors.Is(err, store.ErrCorrupt) {
			w.skipped.Users++
			return nil
		}
		return err
	})
}

// EachItem is [Store.EachItem].
func (r *Reader) EachItem(ctx context.Context, after string, fn func(store.Item) error) error {
	return r.reader.eachGoodItem(ctx, after, fn)
}

// History calls fn for every event of a user, by revision from 1; for none of an unknown user. The
// first error of fn ends it and is returned as it is. The error wraps [store.ErrCorrupt] if the
// history is damaged.
func (r *Reader) History(
	ctx context.Context, user string, fn func(revision uint64, e store.Event) error,
) error {
	return r.reader.read(ctx, user, 0, fn)
}

// history calls fn for every event of a user at whose first row the iterator stands, unless it is
// nil. newer is the revision if the rows are out of date.
func (r *Reader) history(
	ctx context.Context, user string, at *lsm.Iterator, newer uint64,
	fn func(uint64, store.Event) error,
) error {
	if at == nil {
		return r.reader.read(ctx, user, 0, fn)
	}
	head, err := r.reader.headAt(at)
	if err == nil {
		err = eachEvent(ctx, at, len(user), head.Revision, decoded(fn))
	}
	if err == nil && newer > head.Revision {
		err = r.reader.read(ctx, user, head.Revision, fn)
	}
	return err
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
