package users

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Exports are the places of the exports and lists under way. When all are taken, a newcomer gets
// that of the export whose client has let it wait for longest, for exportStall at least, or else
// that of the caller with most of them, if it has at least two more.
type Exports struct {
	max int

	mu    sync.Mutex
	taken []*export // the oldest first
}

// NewExports returns Exports with a number of places.
func NewExports(limit int) *Exports { return &Exports{max: limit} }

// export is the place of an export.
type export struct {
	of     *Exports
	caller string
	cancel context.CancelFunc
	waits  time.Time // for its client since then; zero: it does not
	lost   bool      // its place is another's
}

// begin takes a place for an export, which cancel ends; nil if there is none.
func (all *Exports) begin(caller string, cancel context.CancelFunc) *export {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.taken) >= all.max {
		victim := all.slowest(time.Now())
		if victim == nil {
			victim = all.ofMost(caller)
		}
		if victim == nil {
			return nil
		}
		victim.lost = true
		victim.cancel()
		all.remove(victim)
	}
	e := &export{of: all, caller: caller, cancel: cancel}
	all.taken = append(all.taken, e)
	return e
}

// slowest is the export that waits for longest, if that is long.
func (all *Exports) slowest(now time.Time) (slowest *export) {
	since := now.Add(-exportStall)
	for _, e := range all.taken {
		if !e.waits.IsZero() && e.waits.Before(since) {
			slowest, since = e, e.waits
		}
	}
	return slowest
}

// ofMost is the oldest export of the caller that has most, if another has far fewer.
func (all *Exports) ofMost(other string) (oldest *export) {
	has := map[string]int{}
	for _, e := range all.taken {
		has[e.caller]++
	}
	for _, e := range all.taken {
		if n := has[e.caller]; n > has[other]+1 && (oldest == nil || n > has[oldest.caller]) {
			oldest = e
		}
	}
	return oldest
}

func (all *Exports) remove(e *export) {
	all.taken = slices.DeleteFunc(all.taken, func(o *export) bool { return o == e })
}

// sending is send, which notes while it waits for the client, and does not wait when ctx has ended:
// what it began ends with the stream.
func sending[M any](ctx context.Context, e *export, send func(M) error) func(M) error {
	return func(m M) error {
		e.wait(time.Now())
		defer e.wait(time.Time{})
		sent := make(chan error, 1)
		go func() { sent <- send(m) }()
		select {
		case err := <-sent:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (e *export) wait(since time.Time) {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.waits = since
}

// ended reports whether the export had to make room.
func (e *export) ended() bool {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	return e.lost
}

// end gives the place back.
func (e *export) end() {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.of.remove(e)
}
