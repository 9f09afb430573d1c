package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gsimc/gsimc/store"
)

// agreed is what the processes that share a store agree on. A store in memory is shared by the
// servers of one process, as in tests.
type agreed struct {
	leases map[string]*lease
	topics map[string]map[string][]byte
}

type lease struct {
	holder string
	term   uint64
	until  time.Time // zero: given back
}

var _ store.Shared = (*Store)(nil)

// Lease implements store.Shared.
func (s *Store) Lease(
	ctx context.Context, name, holder string, ttl time.Duration,
) (term uint64, held bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return 0, false, err
	}
	if err := store.ValidateNote(name, holder, nil); err != nil {
		return 0, false, err
	}
	now := time.Now()
	l := s.agreed.leases[name]
	switch {
	case l == nil:
		l = &lease{holder: holder, term: 1}
		s.agreed.leases[name] = l
	case l.holder == holder:
	case now.Before(l.until):
		return l.term, false, nil
	default:
		l.holder, l.term = holder, l.term+1
	}
	l.until = now.Add(ttl)
	return l.term, true, nil
}

// Release implements store.Shared.
func (s *Store) Release(ctx context.Context, name, holder string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	if l := s.agreed.leases[name]; l != nil && l.holder == holder {
		l.until = time.Time{}
	}
	return nil
}

// PutNote implements store.Shared.
func (s *Store) PutNote(
	ctx context.Context, topic, name string, value []byte, fence store.Fence,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := store.ValidateNote(topic, name, value); err != nil {
		return err
	}
	if !s.holds(fence) {
		return store.ErrLeaseLost
	}
	notes := s.agreed.topics[topic]
	if notes == nil {
		notes = map[string][]byte{}
		s.agreed.topics[topic] = notes
	}
	notes[name] = slices.Clone(value)
	return nil
}

// DeleteNotes implements store.Shared.
func (s *Store) DeleteNotes(
	ctx context.Context, topic string, names []string, fence store.Fence,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	if !s.holds(fence) {
		return store.ErrLeaseLost
	}
	for _, name := range names {
		delete(s.agreed.topics[topic], name)
	}
	return nil
}

// holds reports whether nobody has got a term after that of the fence. Requires s.mu.
func (s *Store) holds(fence store.Fence) bool {
	if fence == (store.Fence{}) {
		return true
	}
	l := s.agreed.leases[fence.Lease]
	return l != nil && l.term == fence.Term
}

// Note implements store.Shared.
func (s *Store) Note(
	ctx context.Context, topic, name string,
) (value []byte, found bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return nil, false, err
	}
	value, found = s.agreed.topics[topic][name]
	return slices.Clone(value), found, nil
}

// NoteNames implements store.Shared.
func (s *Store) NoteNames(ctx context.Context, topic string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(s.agreed.topics[topic])), nil
}

// Promises implements store.Shared.
func (s *Store) Promises() []store.Promise {
	return []store.Promise{{Name: "acknowledged events survive the end of the process", Kept: "no"}}
}
