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

	revisions []uint64      // of Events
	half      *kalman.State // after the first TailEvents of Events; nil: it is not known
}

// NewTail returns a tail of an empty history.
func NewTail(m *model.Model) *Tail { return &Tail{Before: m.NewState()} }

// add records the event of a revision that led to the state after. What is too old may stay until
// there is as much again: few events are moved, and a copy of a state saves a second fold of each.
func (t *Tail) add(m *model.Model, revision uint64, e model.Event, after *kalman.State) {
	if t == nil {
		return
	}
	t.Events, t.revisions = append(t.Events, e), append(t.revisions, revision)
	switch {
	case len(t.Events) < 2*TailEvents:
	case t.half == nil:
		t.Cut(m, revision)
	default:
		t.Before = t.half
		t.drop(TailEvents)
	}
	if len(t.Events) == TailEvents {
		t.half = after.Clone()
	}
}

// Cut leaves the last TailEvents events of a history of this revision, whether they are part of the
// state or not. It is to be called at the end of the history.
func (t *Tail) Cut(m *model.Model, revision uint64) {
	if t == nil {
		return
	}
	old := 0
	for old < len(t.Events) && t.revisions[old]+TailEvents <= revision {
		m.Fold(t.Before, t.Events[old])
		old++
	}
	t.drop(old)
}

// drop forgets the n oldest events, which are part of Before.
func (t *Tail) drop(n int) {
	if n > 0 {
		t.half = nil
	}
	t.Events = t.Events[:copy(t.Events, t.Events[n:])]
	t.revisions = t.revisions[:copy(t.revisions, t.revisions[n:])]
}

// ViewTail is [Cache.View] with the tail of the history. It reads the store alone, once: a cached
// state has forgotten its events, and a second read might be of another life of the user.
func (c *Cache) ViewTail(ctx context.Context, m *model.Model, user string, fn func(*User)) error {
	u := New(m, NewTail(m))
	r := c.reader(m, user)
	defer c.release(r)
	c.metrics.load.Inc()
	r.state = u
	if err := r.advance(ctx); err != nil {
		return err
	}
	if u.Tail.Cut(m, u.Revision); u.Revision == 0 {
		u = nil
	}
	fn(u)
	return nil
}
