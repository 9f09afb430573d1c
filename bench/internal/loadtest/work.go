package loadtest

import (
	"context"
	"sync/atomic"
	"time"
)

// counter counts the calls that it passes on.
type counter struct {
	to    Caller
	calls atomic.Int64
}

// Call passes a call on.
func (c *counter) Call(ctx context.Context, r Request) error {
	c.calls.Add(1)
	return c.to.Call(ctx, r)
}

// stopwatch begins to count the processor time of the server. The returned function waits until the
// server has done what its calls left behind, such as sorting events, and returns the time since.
func (r *round) stopwatch() func(context.Context) time.Duration {
	s := r.suite
	if s.Work == nil {
		return func(context.Context) time.Duration { return 0 }
	}
	before := s.Work()
	return func(ctx context.Context) time.Duration {
		if s.Settle != nil {
			s.Settle(ctx)
		}
		return s.Work() - before
	}
}

// work adds the processor time of the server for one of n calls or events, if it is known.
func (r *round) work(what string, spent time.Duration, n int64) {
	if spent > 0 && n > 0 {
		r.add("server processor time, "+what, "µs", micros(spent)/float64(n))
	}
}
