package loadtest

import (
	"context"
	"sync"
	"time"
)

// OpenLoop sends requests at times that do not depend on the answers, as users do.
type OpenLoop struct {
	// Rate is the number of requests a second on average, above 0. The gaps between them are
	// exponential.
	Rate     float64
	Warmup   time.Duration // before the measurement
	Duration time.Duration // of the measurement
	Timeout  time.Duration // deadline of a request, from its intended time
	Seed     uint64        // of the intended times
}

// Run sends the requests that next returns, and waits for the answers. If ctx ends before, the
// result holds what was measured until then.
func (o OpenLoop) Run(ctx context.Context, next func() Request, to Caller) *Result {
	a := newAlarm()
	defer a.close()
	return o.run(ctx, realClock{begin: time.Now(), alarm: a}, next, to)
}

func (o OpenLoop) run(ctx context.Context, c clock, next func() Request, to Caller) *Result {
	result, times := newResult(), newSchedule(o.Rate, o.Seed)
	end := o.Warmup + o.Duration
	var wg sync.WaitGroup
	for intended := times.next(); intended < end; intended = times.next() {
		r := next() // made before its time, so that the time to make it delays nothing
		c.sleepUntil(ctx, intended)
		if ctx.Err() != nil {
			break
		}
		measured := intended >= o.Warmup
		if measured {
			result.Late.Record(c.now() - intended)
		}
		wg.Go(func() {
			// A request that is late by more than the deadline is not sent any more. That also
			// bounds the requests in flight.
			ctx, cancel := context.WithTimeout(ctx, o.Timeout-(c.now()-intended))
			defer cancel()
			err := to.Call(ctx, r)
			if measured {
				result.record(r.Kind, c.now()-intended, o.Timeout, err)
			}
		})
	}
	wg.Wait()
	result.Elapsed = max(min(c.now(), end)-o.Warmup, 0)
	return result
}
