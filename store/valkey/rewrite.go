package valkey

import (
	"context"
	"strconv"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/plan"
)

// Rewrite implements store.Store. Each history is replaced in one atomic step, and several one
// after the other: first the users who keep or get events, then the users who are erased. So a
// caller that moves events from one user to another loses none if the call ends in the middle and
// is repeated. fn is called anew with what is there when one of the histories has been written to
// meanwhile. What is left as it is was read from the primary alone, and is confirmed by its
// replicas.
func (s *Store) Rewrite(
	ctx context.Context, users []string, fn func([][]store.Event) [][]store.Event,
) ([]store.Version, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	if err := plan.CheckUsers(users); err != nil {
		return nil, err
	}
	for {
		versions, done, err := s.rewriteOnce(ctx, users, fn)
		if done || err != nil {
			return versions, err
		}
	}
}

// rewriteOnce makes one attempt; done is false if a history was written to meanwhile.
func (s *Store) rewriteOnce(
	ctx context.Context, users []string, fn func([][]store.Event) [][]store.Event,
) (versions []store.Version, done bool, err error) {
	versions = make([]store.Version, len(users))
	before := make([][]store.Event, len(users))
	for i, user := range users {
		if versions[i], before[i], err = s.history(ctx, user); err != nil {
			return nil, false, err
		}
	}
	after := fn(before)
	if err := plan.CheckRewritten(users, after); err != nil {
		return nil, false, err
	}
	for _, erasing := range []bool{false, true} {
		for i, user := range users {
			if (after[i] != nil && len(after[i]) == 0) != erasing {
				continue
			}
			versions[i], done, err = s.replace(ctx, user, versions[i], after[i])
			if !done || err != nil {
				return nil, false, err
			}
		}
	}
	return versions, true, nil
}

// history reads a whole history.
func (s *Store) history(
	ctx context.Context, user string,
) (head store.Version, events []store.Event, err error) {
	head, _, err = s.Since(ctx, user, store.Version{},
		func(_ store.Version, e store.Event) error {
			events = append(events, e)
			return nil
		})
	return head, events, err
}

// replace replaces a history of a version by events, or confirms it if they are nil; done is false
// if it has another version.
func (s *Store) replace(
	ctx context.Context, user string, of store.Version, events []store.Event,
) (head store.Version, done bool, err error) {
	name, function := token(), "replace"
	args := make([]string, 0, 3+2*len(events))
	args = append(args, name, strconv.FormatUint(of.Revision, 10), packMark(of.Mark))
	if events == nil || of.Revision == 0 && len(events) == 0 {
		function, head = "confirm", of
	}
	for i := range events {
		head = store.Version{Revision: uint64(i + 1), Mark: drawMark()}
		args = append(args, standIn(events[i].ID), packEvent(head.Mark, &events[i]))
	}
	n, err := s.count(ctx, function, s.keys.once(user, name), args...)
	return head, n == 1, err
}
