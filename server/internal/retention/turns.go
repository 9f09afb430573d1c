package retention

import (
	"context"
	"errors"
	"time"

	"github.com/gsimc/gsimc/store"
)

const (
	// topic is that of the note, and the name of the lease.
	topic = "gsimc.retention"
	// noteName is the note of the time at which the last pass began.
	noteName = "last"
	// term is the time for which the lease is taken.
	term = time.Minute
)

// errTaken says that another server makes the pass.
var errTaken = errors.New("another server makes the pass")

// turns say which of the servers of a store makes a pass.
type turns struct {
	shared store.Shared // nil: no other server has the store
	holder string       // of the lease
	last   time.Time    // when the last pass of this server began
}

// take calls pass if one is due: if the last one, of any server, began [Every] ago. It returns when
// that was; the zero Time if it is unknown. The context of pass ends with errTaken when another
// server has got the lease.
func (t *turns) take(
	ctx context.Context, now time.Time, pass func(context.Context) error,
) (last time.Time, err error) {
	if t.shared == nil {
		if last = t.last; due(last, now) {
			if err = pass(ctx); err == nil {
				t.last = now
			}
		}
		return last, err
	}
	if err := t.lease(ctx); err != nil {
		return last, err
	}
	defer func() { // otherwise it runs out
		_ = t.shared.Release(context.WithoutCancel(ctx), topic, t.holder)
	}()
	note, found, err := t.shared.Note(ctx, topic, noteName)
	if err != nil {
		return last, err
	}
	if found && last.UnmarshalBinary(note) != nil {
		last = time.Time{} // the note is no time
	}
	if !due(last, now) {
		return last, nil
	}
	if err := t.whileHeld(ctx, pass); err != nil {
		return last, err
	}
	if note, err = now.MarshalBinary(); err != nil {
		return last, err
	}
	t.last = now
	return last, t.shared.PutNote(ctx, topic, noteName, note, store.Fence{})
}

// due tells whether a pass is to begin. A last one in the time to come, by a wrong clock, is none.
func due(last, now time.Time) bool {
	since := now.Sub(last)
	return since < 0 || since >= Every
}

// lease takes the lease, or prolongs it.
func (t *turns) lease(ctx context.Context) error {
	_, held, err := t.shared.Lease(ctx, topic, t.holder, term)
	if err == nil && !held {
		err = errTaken
	}
	return err
}

// whileHeld calls pass and prolongs the lease meanwhile.
func (t *turns) whileHeld(ctx context.Context, pass func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		for tick := time.Tick(term / 4); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
			if errors.Is(t.lease(ctx), errTaken) { // after another error it may still be held
				end(errTaken)
				return
			}
		}
	}()
	err := pass(ctx)
	if errors.Is(context.Cause(ctx), errTaken) {
		return errTaken
	}
	return err
}
