package stores

import (
	"context"
	"errors"
	"sync"

	"github.com/gsimc/gsimc/store"
)

// readersAtOnce is the number of histories that are read at the same time: over a network a
// reading is mostly waiting.
const readersAtOnce = 8

// Histories calls fn with the whole history of every user, in no order. fn is called by one
// goroutine at a time; its first error ends the call and is returned as it is. A user who is erased
// meanwhile may be left out. As of store.Store.Each, damaged histories are left out, and the error
// is then a *store.SkippedError after all others.
func Histories(
	ctx context.Context, s store.Store, fn func(user string, events []store.Event) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h := &histories{store: s, fn: fn, users: make(chan string, readersAtOnce), end: cancel}
	var readers sync.WaitGroup
	for range readersAtOnce {
		readers.Go(func() { h.read(ctx) })
	}
	err := s.Each(ctx, 0, 1, func(user string, _ store.Version) error {
		select {
		case h.users <- user:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(h.users)
	readers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	skipped, partly := errors.AsType[*store.SkippedError](err)
	if err != nil && !partly {
		return err
	}
	if h.damaged > 0 {
		if skipped == nil {
			skipped = &store.SkippedError{}
		}
		skipped.Users += h.damaged
		return skipped
	}
	return err
}

type histories struct {
	store store.Store
	fn    func(string, []store.Event) error
	users chan string
	end   context.CancelCauseFunc

	mu      sync.Mutex // held by fn
	damaged int64      // histories
}

// read reads histories until there are no more users.
func (h *histories) read(ctx context.Context) {
	for user := range h.users {
		if ctx.Err() != nil {
			continue // the channel has to become empty
		}
		if err := h.history(ctx, user); err != nil {
			h.end(err)
		}
	}
}

func (h *histories) history(ctx context.Context, user string) error {
	events, err := History(ctx, h.store, user)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case errors.Is(err, store.ErrCorrupt):
		h.damaged++
		return nil
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(events) == 0:
		return nil
	}
	return h.fn(user, events)
}

// History returns the whole history of a user.
func History(ctx context.Context, s store.Store, user string) (events []store.Event, err error) {
	_, _, err = s.Since(ctx, user, store.Version{}, func(v store.Version, e store.Event) error {
		if v.Revision == 1 { // the history may begin anew
			events = events[:0]
		}
		events = append(events, e)
		return nil
	})
	return events, err
}
