package state

import (
	"context"

	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
)

// TailEvents is the number of events at the end of a history that a [Tail] keeps. It bounds the
// memory of a request.
const TailEvents = 1000

// A Tail is the end of a history as a model sees it, and the state before it. A nil tail records
// nothing.
type Tail struct {
	Before *kalman.State // state before Events; it must not be changed once Events has begun
	Events model.History

	start uint64 // revisions up to this one are part of Before
}

// NewTail returns a tail that records the last events of a history of this revision, and all later
// ones.
func NewTail(m *model.Model, revision uint64) *Tail {
	return &Tail{start: revision - min(revision, TailEvents), Before: m.NewState()}
}

// add records the event of a revision that is part of the state.
func (t *Tail) add(m *model.Model, revision uint64, e model.Event) {
	switch {
	case t == nil:
	case revision <= t.start:
		m.Fold(t.Before, e)
	default:
		t.Events = append(t.Events, e)
	}
}

// ViewTail is [Cache.View] with the tail of the history. It reads the store alone, once: a cached
// state has forgotten its events, and a second read might be of another life of the user (see
// Erasure).
func (s *Cache) ViewTail(ctx context.Context, m *model.Model, user string, fn func(*User)) error {
	revision, err := s.store.Revision(ctx, user)
	if err != nil {
		return err
	}
	return s.replay(ctx, m, user, NewTail(m, revision), fn)
}
