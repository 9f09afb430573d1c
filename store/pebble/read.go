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
	// The Bloom filters of the lowest level are used too: many lookups are of users who are new.
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

// head returns the revision of the last event in rows.
func (r *reader) head(user string) (uint64, error) {
	r.key = headKey(r.key, user)
	head, err := r.number()
	if err != nil {
		return 0, fmt.Errorf("head of a history: %w", err)
	}
	return head, nil
}

// each calls fn with the encoded events in rows of the revisions above after and up to last, which there must be. The bytes
// are valid until fn returns. Afterwards the reader is good for nothing else.
func (r *reader) each(ctx context.Context, user string, after, last uint64, fn func(revision uint64, event []byte) error) error {
	r.it.SetBounds(eventKey(nil, user, 0), endKey(nil, user))
	r.key = eventKey(r.key, user, after+2)
	want := after + 1
	for valid := r.it.SeekLT(r.key); valid && want <= last; valid = r.it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		first, events, err := eventsAt(r.it, len(user))
		if err != nil {
			return fmt.Errorf("events from revision %d on: %w", want, err)
		}
		if want, err = eachOf(first, events, want, last, fn); err != nil {
			return err
		}
	}
	if err := r.it.Error(); err != nil {
		return readError(err)
	}
	if want <= last {
		return missing(want)
	}
	return nil
}

// eventsAt returns the revision of the first event in the row under the iterator, and the encoded events.
func eventsAt(it *lsm.Iterator, userLen int) (first uint64, events []byte, err error) {
	if first, err = revisionOf(it.Key(), userLen); err != nil {
		return 0, nil, err
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return 0, nil, readError(err)
	}
	events, err = checkVersioned(it.Key(), value, eventsVersion)
	return first, events, err
}

// eachOf calls fn with the events of one row from revision want to last, and returns what is wanted of the next row.
func eachOf(first uint64, events []byte, want, last uint64, fn func(uint64, []byte) error) (uint64, error) {
	if first > want {
		return want, missing(want)
	}
	for revision := first; len(events) > 0 && want <= last; revision++ {
		event, rest, err := cutBytes(events)
		if err != nil {
			return want, corruptEvent(err)
		}
		events = rest
		if revision < want {
			continue
		}
		if err := fn(revision, event); err != nil {
			return want, err
		}
		want++
	}
	return want, nil
}

func missing(revision uint64) error {
	return fmt.Errorf("%w: the event of revision %d is missing", store.ErrCorrupt, revision)
}

func (s *Store) headInRows(user string) (uint64, error) {
	r, err := s.newReader()
	if err != nil {
		return 0, err
	}
	defer r.close()
	return r.head(user)
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
	sh := s.histories.shard(user)
	sh.mu.Lock()
	if h := sh.byUser[user]; h != nil {
		defer sh.mu.Unlock()
		return h.shown.head, nil
	}
	sh.mu.Unlock()
	return s.headInRows(user)
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
	return s.read(ctx, user, after, fn)
}

// snapshot is a history as of one moment.
type snapshot struct {
	rows    uint64  // revision up to which events are in rows
	reader  *reader // of the rows; nil if none are wanted
	pending []pendingEvent
}

// pendingEvent is an event that is not in rows.
type pendingEvent struct {
	gen   *generation
	place place
}

// snapshot takes what there is after a revision; its reader must be closed.
func (s *Store) snapshot(user string, after uint64) (v snapshot, err error) {
	sh := s.histories.shard(user)
	sh.mu.Lock()
	h := sh.byUser[user]
	if h == nil {
		sh.mu.Unlock()
		if v.reader, err = s.newReader(); err == nil {
			v.rows, err = v.reader.head(user)
		}
		return v, err
	}
	defer sh.mu.Unlock()
	v.rows = h.inRows()
	v.pending = s.pendingOf(h, after)
	// The rows are those of this moment too: whatever takes events out of rows or moves them there has the lock first.
	if after < v.rows {
		v.reader, err = s.newReader()
	}
	return v, err
}

// pendingOf returns the shown events above a revision that are not in rows. Requires the lock of the shard.
func (s *Store) pendingOf(h *history, after uint64) []pendingEvent {
	skip := 0
	if rows := h.inRows(); after > rows {
		skip = int(min(after-rows, uint64(h.pending())))
	}
	if skip == h.pending() {
		return nil
	}
	events := make([]pendingEvent, 0, h.pending())
	filling := int(s.filling.Load())
	for _, parity := range [2]int{1 - filling, filling} {
		g := s.gens[parity].Load()
		for _, p := range h.shown.tails[parity] {
			events = append(events, pendingEvent{g, p})
		}
	}
	return events[skip:]
}

func (s *Store) read(ctx context.Context, user string, after uint64, fn func(uint64, store.Event) error) error {
	v, err := s.snapshot(user, after)
	if v.reader != nil {
		defer v.reader.close()
	}
	if err != nil {
		return err
	}
	decode := func(revision uint64, event []byte) error {
		e, err := decodeEvent(event)
		if err != nil {
			return fmt.Errorf("event of revision %d: %w", revision, err)
		}
		return fn(revision, e)
	}
	if after < v.rows {
		if err := v.reader.each(ctx, user, after, v.rows, decode); err != nil {
			return err
		}
	}
	revision := max(after, v.rows)
	for _, p := range v.pending {
		if err := ctx.Err(); err != nil {
			return err
		}
		revision++
		if err := decode(revision, p.gen.event(p.place)); err != nil {
			return err
		}
	}
	return nil
}

// Users implements store.Store.
func (s *Store) Users(ctx context.Context, fn func(string, uint64) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	it, heads, err := s.allHeads()
	if err != nil {
		return err
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
		if newer, ok := heads[user]; ok {
			delete(heads, user)
			revision = newer
		}
		if revision > 0 {
			if err := fn(user, revision); err != nil {
				return err
			}
		}
		end = endKey(end, user)
	}
	if err := readIfFailed(it); err != nil {
		return err
	}
	for user, revision := range heads { // those with nothing in rows
		if err := ctx.Err(); err != nil {
			return err
		}
		if revision > 0 {
			if err := fn(user, revision); err != nil {
				return err
			}
		}
	}
	return nil
}

// allHeads returns an iterator over the rows of users, and the revisions of those whose head row does not tell it, as of
// one moment.
func (s *Store) allHeads() (*lsm.Iterator, map[string]uint64, error) {
	s.histories.publish.Lock()
	defer s.histories.publish.Unlock()
	heads := map[string]uint64{}
	for i := range s.histories.shards {
		sh := &s.histories.shards[i]
		sh.mu.Lock()
		for user, h := range sh.byUser {
			if h.pending() > 0 || h.shown.head == 0 { // an erasure may not have reached the rows
				heads[user] = h.shown.head
			}
		}
		sh.mu.Unlock()
	}
	it, err := s.db.NewIter(&lsm.IterOptions{LowerBound: firstUserKey})
	if err != nil {
		return nil, nil, readError(err)
	}
	return it, heads, nil
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
