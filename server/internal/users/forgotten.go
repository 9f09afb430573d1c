package users

import (
	"context"
	"errors"
	"time"

	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/store"
)

// maxErasureWaits is the number of calls that wait until erased users are forgotten. They have a
// bound of their own: in the class of their method they would take the room of others for seconds.
const maxErasureWaits = 64

// answerAhead is how long before its deadline a call that waits is answered, at most, so that its
// client learns that the user is erased.
const answerAhead = 250 * time.Millisecond

// beginWait takes the room of a call that waits for an erasure, before anything is erased. wait
// returns when the users who are erased by then are in no file of the store; done gives the room
// back.
func (s *service) beginWait() (wait func(context.Context) error, done func(), err error) {
	f, ok := s.Store.(store.Forgetter)
	if !ok {
		return nil, nil, outcome.ErrCannotTell
	}
	select {
	case s.ErasureWaits <- struct{}{}:
	default:
		return nil, nil, outcome.ErrErasureWaits
	}
	wait = func(ctx context.Context) error { return s.waitForgotten(ctx, f) }
	return wait, func() { <-s.ErasureWaits }, nil
}

// waitForgotten gives the room of the call among others back, and waits. A shutdown ends the wait.
func (s *service) waitForgotten(ctx context.Context, f store.Forgetter) error {
	admission.Of(ctx).Leave()
	waits, cancel := context.WithCancel(ctx)
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		ahead := min(answerAhead, time.Until(deadline)/10)
		waits, cancel = context.WithDeadline(waits, deadline.Add(-ahead))
		defer cancel()
	}
	defer context.AfterFunc(s.Draining, cancel)()
	err := f.Forgotten(waits)
	switch {
	case err == nil:
		return nil
	case s.Draining.Err() != nil:
		return outcome.ErrDraining
	case errors.Is(waits.Err(), context.DeadlineExceeded):
		return outcome.ErrErasurePending
	}
	return err
}
