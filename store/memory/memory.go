// Package memory keeps user histories and the catalogue in memory: for tests and for serving
// without durability. Everything is gone when the process ends, and memory grows with the number of
// events; apart from that it keeps every promise of store.Store.
package memory

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/plan"
)

// Store is a store.Store in memory. Use New.
type Store struct {
	id        [16]byte
	mu        sync.RWMutex
	closed    bool
	histories map[string]*history
	catalogue catalogue
	agreed    agreed
	bytes     int64
}

// history is the history of one user. events only grows, so a slice of it that was taken under the
// lock may be read without the lock.
type history struct {
	mark   uint64            // of this life
	events []store.Event     // events[r-1] has revision r
	byID   map[string]uint64 // revision of each event id
	bytes  int64
}

func (h *history) version() store.Version {
	return store.Version{Revision: uint64(len(h.events)), Mark: h.mark}
}

// eventBytes is about the memory of an event besides its strings: the struct and its entry in byID.
const eventBytes = 80 + 40

var _ store.Forgetter = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	s := &Store{histories: make(map[string]*history),
		catalogue: catalogue{items: make(map[string]store.Item)},
		agreed: agreed{leases: make(map[string]*lease),
			topics: make(map[string]map[string][]byte)}}
	_, _ = rand.Read(s.id[:]) // never fails
	return s
}

// Identity implements store.Store.
func (s *Store) Identity() store.Identity {
	return store.Identity{ID: s.id}
}

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
	return results, plan.Make(planned{s, records}, records, results)
}

// planned are the histories of the users of one call. Requires s.mu.
type planned struct {
	*Store
	records []store.Record
}

// Find implements plan.Histories.
func (p planned) Find(i int) (store.Version, store.Event, error) {
	h := p.histories[p.records[i].User]
	if h == nil {
		return store.Version{}, store.Event{}, nil
	}
	revision := h.byID[p.records[i].Event.ID]
	if revision == 0 {
		return store.Version{}, store.Event{}, nil
	}
	return store.Version{Revision: revision, Mark: h.mark}, h.events[revision-1], nil
}

// Add implements plan.Histories.
func (p planned) Add(i int) store.Version {
	rec := p.records[i]
	h := p.histories[rec.User]
	if h == nil {
		h = &history{mark: store.DrawMark(), byID: make(map[string]uint64)}
		p.histories[rec.User] = h
	}
	e := rec.Event
	e.Time = e.Time.UTC().Round(0) // without the monotonic clock
	h.events = append(h.events, e)
	h.byID[e.ID] = uint64(len(h.events))
	h.bytes += eventSize(e)
	p.bytes += eventSize(e)
	return h.version()
}

func eventSize(e store.Event) int64 {
	return int64(eventBytes + len(e.ID) + len(e.Item) + len(e.Type))
}

// Since implements store.Store.
func (s *Store) Since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (head store.Version, same bool, err error) {
	head, events, err := s.history(ctx, user)
	if err != nil {
		return store.Version{}, false, err
	}
	same = known.Revision == 0 || known.Mark == head.Mark && known.Revision <= head.Revision
	after := known.Revision
	if !same {
		after = 0
	}
	if fn == nil {
		return head, same, nil
	}
	for r := after; r < head.Revision; r++ {
		if err := ctx.Err(); err != nil {
			return store.Version{}, false, err
		}
		if err := fn(store.Version{Revision: r + 1, Mark: head.Mark}, events[r]); err != nil {
			return store.Version{}, false, err
		}
	}
	return head, same, nil
}

func (s *Store) history(
	ctx context.Context, user string,
) (head store.Version, events []store.Event, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return store.Version{}, nil, err
	}
	if h := s.histories[user]; h != nil {
		return h.version(), h.events, nil
	}
	return store.Version{}, nil, nil
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

// Rewrite implements store.Store.
func (s *Store) Rewrite(
	ctx context.Context, users []string, fn func([][]store.Event) [][]store.Event,
) ([]store.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	if err := plan.CheckUsers(users); err != nil {
		return nil, err
	}
	before := make([][]store.Event, len(users))
	for i, user := range users {
		if h := s.histories[user]; h != nil {
			before[i] = slices.Clip(h.events)
		}
	}
	after := fn(before)
	if err := plan.CheckRewritten(users, after); err != nil {
		return nil, err
	}
	versions := make([]store.Version, len(users))
	for i, user := range users {
		if after[i] != nil {
			s.replace(user, after[i])
		}
		if h := s.histories[user]; h != nil {
			versions[i] = h.version()
		}
	}
	return versions, nil
}

// replace begins a history anew. Requires s.mu.
func (s *Store) replace(user string, events []store.Event) {
	if h := s.histories[user]; h != nil {
		delete(s.histories, user)
		s.bytes -= h.bytes
	}
	for i := range events {
		planned{s, []store.Record{{User: user, Event: events[i]}}}.Add(0)
	}
}

// Forgotten implements store.Forgetter: there are no files.
func (s *Store) Forgotten(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.check(ctx)
}

// Each implements store.Store. The versions are of one moment.
func (s *Store) Each(
	ctx context.Context, shard, of int, fn func(string, store.Version) error,
) error {
	heads, err := s.heads(ctx, shard, of)
	if err != nil {
		return err
	}
	for user, head := range heads {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(user, head); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) heads(ctx context.Context, shard, of int) (map[string]store.Version, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	heads := make(map[string]store.Version, len(s.histories)/of)
	for user, h := range s.histories {
		if store.Shard(user, of) == shard {
			heads[user] = h.version()
		}
	}
	return heads, nil
}

// Stats implements store.Store.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return store.Stats{}, err
	}
	return store.Stats{Users: int64(len(s.histories)), Bytes: s.bytes, Room: -1, Free: -1,
		Reserve: -1, Debt: -1}, nil
}

// Close implements store.Store. Calls that are already iterating over a history go on.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	s.closed, s.histories, s.catalogue, s.agreed = true, nil, catalogue{}, agreed{}
	return nil
}

// check returns why a call must not begin. Requires s.mu.
func (s *Store) check(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}
