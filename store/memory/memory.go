// Package memory keeps user histories in memory: for tests and for serving without durability.
// Everything is gone when the process ends, and memory grows with the number of events; apart from
// that it keeps every promise of store.Store.
package memory

import (
	"context"
	"sync"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/plan"
)

// Store is a store.Store in memory. Use New.
type Store struct {
	mu        sync.RWMutex
	closed    bool
	histories map[string]*history
	bytes     int64
}

// history is the history of one user. events only grows, so a slice of it that was taken under the
// lock may be read without the lock.
type history struct {
	events []store.Event     // events[r-1] has revision r
	byID   map[string]uint64 // revision of each event id
	bytes  int64
}

// eventBytes is about the memory of an event besides its strings: the struct and its entry in byID.
const eventBytes = 80 + 40

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{histories: make(map[string]*history)} }

// Append implements store.Store.
func (s *Store) Append(ctx context.Context, records []store.Record) ([]store.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, nil
	}
	if err := store.ValidateAll(records); err != nil {
		return nil, err
	}
	results := make([]store.Result, len(records))
	planned := planned{s, records}
	if err := plan.Make(planned, records, results); err != nil {
		planned.undo(results)
		return nil, err
	}
	return results, nil
}

// planned are the histories of the users of one call. Requires s.mu.
type planned struct {
	*Store
	records []store.Record
}

// Find implements plan.Histories.
func (p planned) Find(i int) (uint64, store.Event, error) {
	h := p.histories[p.records[i].User]
	if h == nil {
		return 0, store.Event{}, nil
	}
	revision := h.byID[p.records[i].Event.ID]
	if revision == 0 {
		return 0, store.Event{}, nil
	}
	return revision, h.events[revision-1], nil
}

// Add implements plan.Histories.
func (p planned) Add(i int) uint64 {
	rec := p.records[i]
	h := p.histories[rec.User]
	if h == nil {
		h = &history{byID: make(map[string]uint64)}
		p.histories[rec.User] = h
	}
	e := rec.Event
	e.Time = e.Time.UTC().Round(0) // without the monotonic clock
	h.events = append(h.events, e)
	h.byID[e.ID] = uint64(len(h.events))
	h.bytes += eventSize(e)
	p.bytes += eventSize(e)
	return uint64(len(h.events))
}

// undo removes the added events, the last first. Records that were not planned have the zero
// result.
func (p planned) undo(results []store.Result) {
	for i := len(results) - 1; i >= 0; i-- {
		if results[i].Revision == 0 || results[i].Duplicate {
			continue
		}
		user := p.records[i].User
		h := p.histories[user]
		last := len(h.events) - 1
		e := h.events[last]
		delete(h.byID, e.ID)
		h.events = h.events[:last] // no reader has been shown the event
		h.bytes -= eventSize(e)
		p.bytes -= eventSize(e)
		if last == 0 {
			delete(p.histories, user)
		}
	}
}

func eventSize(e store.Event) int64 {
	return int64(eventBytes + len(e.ID) + len(e.Item) + len(e.Type))
}

// Revision implements store.Store.
func (s *Store) Revision(ctx context.Context, user string) (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	if h := s.histories[user]; h != nil {
		return uint64(len(h.events)), nil
	}
	return 0, nil
}

// Read implements store.Store.
func (s *Store) Read(
	ctx context.Context, user string, after uint64, fn func(uint64, store.Event) error,
) error {
	events, err := s.events(ctx, user)
	if err != nil {
		return err
	}
	for r := after; r < uint64(len(events)); r++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(r+1, events[r]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) events(ctx context.Context, user string) ([]store.Event, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	if h := s.histories[user]; h != nil {
		return h.events, nil
	}
	return nil, nil
}

// Erase implements store.Store.
func (s *Store) Erase(ctx context.Context, user string) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	h := s.histories[user]
	if h == nil {
		return 0, nil
	}
	delete(s.histories, user)
	s.bytes -= h.bytes
	return uint64(len(h.events)), nil
}

// Users implements store.Store.
func (s *Store) Users(ctx context.Context, fn func(string, uint64) error) error {
	revisions, err := s.revisions(ctx)
	if err != nil {
		return err
	}
	for user, revision := range revisions {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(user, revision); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) revisions(ctx context.Context) (map[string]uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	revisions := make(map[string]uint64, len(s.histories))
	for user, h := range s.histories {
		revisions[user] = uint64(len(h.events))
	}
	return revisions, nil
}

// Stats implements store.Store.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return store.Stats{}, err
	}
	return store.Stats{Users: int64(len(s.histories)), Bytes: s.bytes}, nil
}

// Close implements store.Store. Calls that are already iterating over a history go on.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	s.closed, s.histories = true, nil
	return nil
}

// check returns why a call must not begin. Requires s.mu.
func (s *Store) check(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}
