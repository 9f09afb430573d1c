package loadtest

import (
	"context"
	"sync"
	"time"
)

// ClosedLoop keeps a fixed number of requests in flight.
type ClosedLoop struct {
	InFlight int           // clients, each of which waits for its answer before it sends again
	Warmup   time.Duration // before the measurement
	Duration time.Duration // of the measurement
	Timeout  time.Duration // deadline of a request
}

// Run sends the requests of the sources, one for each client, until the time is over or ctx ends,
// and waits for the answers. A request counts if its answer comes within the measurement. If none
// does, the measurement goes on until the first one.
func (l ClosedLoop) Run(
	ctx context.Context, source func(client int) func() Request, to Caller,
) *Result {
	result := newResult()
	begin := time.Now()
	from := begin.Add(l.Warmup)
	m := measured{until: from.Add(l.Duration)}
	var wg sync.WaitGroup
	for i := range l.InFlight {
		next := source(i)
		wg.Go(func() {
			for ctx.Err() == nil {
				r := next()
				sent := time.Now()
				if m.over(sent) {
					return
				}
				err := callWithin(ctx, l.Timeout, r, to)
				answered := time.Now()
				if answered.After(from) && ctx.Err() == nil && m.counts(answered) {
					result.record(r.Kind, answered.Sub(sent), l.Timeout, err)
				}
			}
		})
	}
	wg.Wait()
	result.Elapsed = min(time.Since(from), m.until.Sub(from))
	return result
}

// measured is the end of a measurement.
type measured struct {
	mu    sync.Mutex
	until time.Time
	any   bool // a request counts
}

func (m *measured) over(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.any && !now.Before(m.until)
}

// counts reports whether an answer counts.
func (m *measured) counts(answered time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !answered.Before(m.until) {
		if m.any {
			return false
		}
		m.until = answered
	}
	m.any = true
	return true
}

func callWithin(ctx context.Context, timeout time.Duration, r Request, to Caller) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return to.Call(ctx, r)
}
