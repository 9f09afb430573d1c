package pebble

import (
	"context"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
)

// Reader reads a store that no process writes to. Use [OpenReadOnly].
type Reader struct{ s *Store }

// OpenReadOnly opens an existing store, or a checkpoint of one, to read it. Nothing in the directory is changed, the seal
// included, but for an empty lock file. The error wraps [ErrInUse] if another process has the store open, if only to read it.
func OpenReadOnly(dir string, opts Options) (*Reader, error) {
	s := newStore(dir, opts)
	if err := s.openReadOnly(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store in %q: %w", dir, err), s.fsWatch.Close())
	}
	return &Reader{s}, nil
}

func (s *Store) openReadOnly(dir string) (err error) {
	if _, err := s.fs.Stat(dir); err != nil {
		return err
	}
	state, err := inspectDir(s.fs, dir)
	if err != nil {
		return err
	}
	if state != dirStore {
		return fmt.Errorf("there is no store in the directory (no %q in it): give the data folder of a server", dataName)
	}
	if s.lock, err = lockDir(s.fs, dir); err != nil {
		return err
	}
	if err := s.openEngineReadOnly(dir); err != nil {
		return errors.Join(err, s.lock.Close())
	}
	return nil
}

func (s *Store) openEngineReadOnly(dir string) (err error) {
	if err := checkSeal(s.fs, dir); err != nil {
		return err
	}
	opts := s.engineOptions()
	opts.ReadOnly = true
	if s.db, err = s.openEngine(s.fs.PathJoin(dir, dataName), opts); err != nil {
		return err
	}
	if err := s.checkFormat(); err != nil {
		return errors.Join(err, s.closeEngine(s.db))
	}
	if err := s.replay(context.Background()); err != nil {
		return errors.Join(err, s.closeEngine(s.db))
	}
	return nil
}

// Close releases the store.
func (r *Reader) Close() error {
	return errors.Join(r.s.closeEngine(r.s.db), r.s.lock.Close(), r.s.fsWatch.Close())
}

// Each calls fn for every event of every history, in one pass over the store: the users in no promised order, the events of
// a user one after the other by revision, from 1. The first error of fn ends the pass and is returned as it is. Damage is an
// error that wraps [store.ErrCorrupt]; the events before it have been passed to fn.
func (r *Reader) Each(ctx context.Context, fn func(user string, revision uint64, e store.Event) error) error {
	it, heads, err := r.s.allHeads()
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
		if err := eachEvent(ctx, it, user, head, fn); err != nil {
			return err
		}
		if newer := heads[user]; newer > head {
			if err := r.s.read(ctx, user, head, func(revision uint64, e store.Event) error { return fn(user, revision, e) }); err != nil {
				return err
			}
		}
		delete(heads, user)
		end = endKey(end, user)
	}
	if err := readIfFailed(it); err != nil {
		return err
	}
	for user := range heads { // those with nothing in rows
		if err := r.s.read(ctx, user, 0, func(revision uint64, e store.Event) error { return fn(user, revision, e) }); err != nil {
			return err
		}
	}
	return nil
}

// eachEvent calls fn for the events in the rows after the head row under the iterator.
func eachEvent(ctx context.Context, it *lsm.Iterator, user string, head uint64, fn func(string, uint64, store.Event) error) error {
	for want := uint64(1); want <= head; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !it.Next() {
			return errors.Join(readIfFailed(it), missing(want))
		}
		first, events, err := eventsAt(it, len(user))
		if err != nil {
			return fmt.Errorf("events from revision %d on: %w", want, err)
		}
		want, err = eachOf(first, events, want, head, func(revision uint64, event []byte) error {
			e, err := decodeEvent(event)
			if err != nil {
				return fmt.Errorf("event of revision %d: %w", revision, err)
			}
			return fn(user, revision, e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readIfFailed is the error of an iterator that has come to its end, if it did not get there.
func readIfFailed(it *lsm.Iterator) error {
	if err := it.Error(); err != nil {
		return readError(err)
	}
	return nil
}
