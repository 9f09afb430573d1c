package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
)

// reader looks rows up as of the moment it was made.
type reader struct {
	it  *lsm.Iterator
	key []byte // of the last lookup
}

func (s *Store) newReader() (*reader, error) {
	// The Bloom filters of the lowest level are used too: most lookups are of event ids that are new.
	it, err := s.db.NewIter(&lsm.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, readError(err)
	}
	return &reader{it: it}, nil
}

// close releases the reader. Errors have been returned by the lookups.
func (r *reader) close() { _ = r.it.Close() }

// get returns the value of r.key, valid until the next call, or nil.
func (r *reader) get() ([]byte, error) {
	if !r.it.SeekPrefixGE(r.key) {
		if err := r.it.Error(); err != nil {
			return nil, readError(err)
		}
		return nil, nil
	}
	if !bytes.Equal(r.it.Key(), r.key) {
		return nil, nil
	}
	value, err := r.it.ValueAndErr()
	if err != nil {
		return nil, readError(err)
	}
	return value, nil
}

func (r *reader) number() (uint64, error) {
	value, err := r.get()
	if value == nil || err != nil {
		return 0, err
	}
	return decodeNumber(r.key, value)
}

// Head implements plan.Reader.
func (r *reader) Head(user string) (uint64, error) {
	r.key = headKey(r.key, user)
	head, err := r.number()
	if err != nil {
		return 0, fmt.Errorf("head of a history: %w", err)
	}
	return head, nil
}

// Find implements plan.Reader.
func (r *reader) Find(user, eventID string) (uint64, store.Event, error) {
	r.key = eventIDKey(r.key, user, eventID)
	revision, err := r.number()
	if err != nil {
		return 0, store.Event{}, fmt.Errorf("event id of a history: %w", err)
	}
	if revision == 0 {
		return 0, store.Event{}, nil
	}
	r.key = eventKey(r.key, user, revision)
	value, err := r.get()
	if err != nil {
		return 0, store.Event{}, err
	}
	if value == nil {
		return 0, store.Event{}, missing(revision)
	}
	e, err := decodeEvent(r.key, value)
	if err != nil {
		return 0, store.Event{}, fmt.Errorf("event of revision %d: %w", revision, err)
	}
	return revision, e, nil
}

func missing(revision uint64) error {
	return fmt.Errorf("%w: the event of revision %d is missing", store.ErrCorrupt, revision)
}

func (s *Store) head(user string) (uint64, error) {
	r, err := s.newReader()
	if err != nil {
		return 0, err
	}
	defer r.close()
	return r.Head(user)
}

// Revision implements store.Store.
func (s *Store) Revision(ctx context.Context, user string) (uint64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	if !possible(user) {
		return 0, nil
	}
	return s.head(user)
}

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, user string, after uint64, fn func(uint64, store.Event) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	if !possible(user) {
		return nil
	}
	r, err := s.newReader()
	if err != nil {
		return err
	}
	defer r.close()
	head, err := r.Head(user)
	if err != nil || after >= head {
		return err
	}
	// From here on the same iterator, and so the same moment, but within the events only.
	r.it.SetBounds(eventKey(nil, user, after+1), appendKey(nil, user, kindEventID))
	want := after + 1
	for valid := r.it.First(); valid; valid = r.it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := eventAt(r.it, len(user), want)
		if err != nil {
			return err
		}
		if err := fn(want, e); err != nil {
			return err
		}
		want++
	}
	if err := r.it.Error(); err != nil {
		return readError(err)
	}
	if want != head+1 {
		return missing(want)
	}
	return nil
}

// eventAt returns the event under the iterator, which must be that of the wanted revision.
func eventAt(it *lsm.Iterator, userLen int, want uint64) (store.Event, error) {
	revision, err := revisionOf(it.Key(), userLen)
	if err != nil {
		return store.Event{}, err
	}
	if revision != want {
		return store.Event{}, missing(want)
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return store.Event{}, readError(err)
	}
	e, err := decodeEvent(it.Key(), value)
	if err != nil {
		return store.Event{}, fmt.Errorf("event of revision %d: %w", revision, err)
	}
	return e, nil
}

// Users implements store.Store.
func (s *Store) Users(ctx context.Context, fn func(string, uint64) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	it, err := s.db.NewIter(&lsm.IterOptions{LowerBound: firstUserKey})
	if err != nil {
		return readError(err)
	}
	defer func() { _ = it.Close() }() // its errors are those of it.Error
	var end []byte
	for valid := it.First(); valid; valid = it.SeekGE(end) {
		if err := ctx.Err(); err != nil {
			return err
		}
		user, revision, err := headAt(it)
		if err != nil {
			return err
		}
		if err := fn(user, revision); err != nil {
			return err
		}
		end = endKey(end, user)
	}
	if err := it.Error(); err != nil {
		return readError(err)
	}
	return nil
}

// headAt returns the user and the revision of the head row under the iterator.
func headAt(it *lsm.Iterator) (string, uint64, error) {
	user, err := userOfHead(it.Key())
	if err != nil {
		return "", 0, err
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return "", 0, readError(err)
	}
	revision, err := decodeNumber(it.Key(), value)
	if err == nil && revision == 0 {
		err = errors.New("the head of a history says it is empty")
	}
	if err != nil {
		return "", 0, fmt.Errorf("%w: head of a history: %w", store.ErrCorrupt, err)
	}
	return user, revision, nil
}
