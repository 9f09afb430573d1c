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
// and waits for the answers. A request counts if its answer comes within the measurement.
func (l ClosedLoop) Run(
	ctx context.Context, source func(client int) func() Request, to Caller,
) *Result {
	result := newResult()
	begin := time.Now()
	from, until := begin.Add(l.Warmup), begin.Add(l.Warmup+l.Duration)
	var wg sync.WaitGroup
	for i := range l.InFlight {
		next := source(i)
		wg.Go(func() {
			for ctx.Err() == nil {
				r := next()
				sent := time.Now()
				if !sent.Before(until) {
					return
				}
				err := callWithin(ctx, l.Timeout, r, to)
				answered := time.Now()
				if answered.After(from) && answered.Before(until) && ctx.Err() == nil {
					result.record(r.Kind, answered.Sub(sent), l.Timeout, err)
				}
			}
		})
	}
	wg.Wait()
	result.Elapsed = min(time.Since(from), l.Duration)
	return result
}

func callWithin(ctx context.Context, timeout time.Duration, r Request, to Caller) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return to.Call(ctx, r)
}
