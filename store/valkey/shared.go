package valkey

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/valkey/internal/cluster"
)

// Lease implements store.Shared. The time is that of the primary that has the leases.
func (s *Store) Lease(
	ctx context.Context, name, holder string, ttl time.Duration,
) (term uint64, held bool, err error) {
	if err := s.calls.Begin(ctx); err != nil {
		return 0, false, err
	}
	defer s.calls.Done()
	if err := store.ValidateNote(name, holder, nil); err != nil {
		return 0, false, err
	}
	call := &cluster.Call{Function: function("lease"), Keys: []string{s.keys.lease(name)},
		Args: []string{holder, strconv.FormatInt(ttl.Milliseconds(), 10)}}
	s.cluster.Write(ctx, call)
	if call.Err != nil {
		return 0, false, call.Err
	}
	parts, err := call.Reply.AsIntSlice()
	if err != nil || len(parts) != 2 {
		return 0, false, errAnswer
	}
	return uint64(parts[0]), parts[1] == 1, nil
}

// Release implements store.Shared.
func (s *Store) Release(ctx context.Context, name, holder string) error {
	return s.change(ctx, "release", []string{s.keys.lease(name)}, []string{holder})
}

// PutNote implements store.Shared.
func (s *Store) PutNote(
	ctx context.Context, topic, name string, value []byte, fence store.Fence,
) error {
	if err := store.ValidateNote(topic, name, value); err != nil {
		return err
	}
	return s.fenced(ctx, "put_note", topic, fence, name, string(value))
}

// DeleteNotes implements store.Shared.
func (s *Store) DeleteNotes(
	ctx context.Context, topic string, names []string, fence store.Fence,
) error {
	return s.fenced(ctx, "delete_notes", topic, fence, names...)
}

// fenced is a call of a function that writes notes while a fence holds.
func (s *Store) fenced(
	ctx context.Context, name, topic string, fence store.Fence, args ...string,
) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	term := "" // no fence
	if fence != (store.Fence{}) {
		term = strconv.FormatUint(fence.Term, 10)
	}
	id := token()
	n, err := s.count(ctx, name, s.keys.topic(topic, id, fence.Lease),
		append([]string{id, term}, args...)...)
	if err == nil && n == 0 {
		return store.ErrLeaseLost
	}
	return err
}

// Note implements store.Shared.
func (s *Store) Note(
	ctx context.Context, topic, name string,
) (value []byte, found bool, err error) {
	reply, err := s.ask(ctx, "note", s.keys.topic(topic, "", "")[:1], name)
	if err != nil || reply.IsNil() {
		return nil, false, err
	}
	text, err := reply.ToString()
	if err != nil {
		return nil, false, errAnswer
	}
	return []byte(text), true, nil
}

// NoteNames implements store.Shared.
func (s *Store) NoteNames(ctx context.Context, topic string) ([]string, error) {
	reply, err := s.ask(ctx, "note_names", s.keys.topic(topic, "", "")[:1])
	if err != nil {
		return nil, err
	}
	names, err := reply.AsStrSlice()
	if err != nil {
		return nil, errAnswer
	}
	slices.Sort(names)
	return names, nil
}
