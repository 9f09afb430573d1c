package loadtest

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// bubbleClock is the time of a synctest bubble, which passes only when everything waits.
type bubbleClock struct {
	begin time.Time
	late  func(t time.Duration) time.Duration // how much too late a sleep until t ends; nil: never
}

func (c bubbleClock) now() time.Duration { return time.Since(c.begin) }

func (c bubbleClock) sleepUntil(_ context.Context, t time.Duration) {
	if c.late != nil {
		t += c.late(t)
	}
	time.Sleep(t - c.now())
}

func TestSchedule(t *testing.T) {
	const rate, n = 2000.0, 100_000
	s, again := newSchedule(rate, 7), newSchedule(rate, 7)
	var last time.Duration
	var sum, squares float64
	for range n {
		at := s.next()
		check.MustSame(t, at, again.next(), "the same seed gives")
		gap := (at - last).Seconds() * rate
		if gap < 0 {
			t.Fatalf("an arrival at %s after one at %s", at, last)
		}
		sum += gap
		squares += gap * gap
		last = at
	}
	// Exponential gaps have mean 1 and mean square 2; the bounds are five standard errors.
	if mean := sum / n; math.Abs(mean-1) > 5/math.Sqrt(n) {
		t.Errorf("gaps are %v times the mean of the rate", mean)
	}
	if square := squares / n; math.Abs(square-2) > 5*math.Sqrt(20)/math.Sqrt(n) {
		t.Errorf("mean square of the gaps is %v, want 2 as of an exponential", square)
	}
}

// callerFunc is a caller made of a function.
type callerFunc func(ctx context.Context, r Request) error

func (f callerFunc) Call(ctx context.Context, r Request) error { return f(ctx, r) }

func oneRequest() Request { return Request{Kind: Recommend} }

// Requests go out at their intended times, however long the answers take, and the warm-up does not
// count.
func TestOpenLoopSendsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := OpenLoop{Rate: 1000, Warmup: 100 * time.Millisecond, Duration: time.Second,
			Timeout: time.Minute, Seed: 3}
		begin := time.Now()
		sent := make(chan time.Duration, 5000)
		result := loop.run(t.Context(), bubbleClock{begin: begin}, oneRequest,
			callerFunc(func(context.Context, Request) error {
				sent <- time.Since(begin)
				time.Sleep(2 * time.Second) // longer than the whole run
				return nil
			}))
		close(sent)
		want, measured := newSchedule(1000, 3), int64(0)
		for at := range sent {
			intended := want.next()
			check.MustSame(t, intended, at, "time when a request was sent")
			if intended >= loop.Warmup {
				measured++
			}
		}
		if result.answered != measured || result.Failed() != 0 || measured < 900 ||
			measured > 1100 {
			t.Errorf("%d answers and %d failures counted, want %d, about 1000, and none",
				result.answered, result.Failed(), measured)
		}
		if got := result.Latency[Recommend].Quantile(1); got.Round(
			10*time.Millisecond) != 2*time.Second {
			t.Errorf("the longest latency is %s, want 2s", got)
		}
		if result.Late.Quantile(1) > 2*time.Microsecond {
			t.Errorf("sent late by %s", result.Late.Quantile(1))
		}
	})
}

// A server that takes one request at a time and stalls for 200 ms in a run of a second holds up a
// fifth of the users. An open loop must say so; a closed loop cannot, which is why tails come from
// open ones.
func TestStallIsAccountedFor(t *testing.T) {
	stalling := func() Caller {
		turn := make(chan struct{}, 1)
		begin := time.Now()
		stalled := false
		return callerFunc(func(context.Context, Request) error {
			turn <- struct{}{}
			defer func() { <-turn }()
			if !stalled && time.Since(begin) > 400*time.Millisecond {
				stalled = true
				time.Sleep(200 * time.Millisecond)
			}
			time.Sleep(100 * time.Microsecond)
			return nil
		})
	}
	synctest.Test(t, func(t *testing.T) {
		loop := OpenLoop{Rate: 1000, Duration: time.Second, Timeout: time.Minute, Seed: 1}
		open := loop.run(t.Context(), bubbleClock{begin: time.Now()}, oneRequest,
			stalling()).Latency[Recommend]
		// Of the users of the stall those of its first half waited for more than 100 ms: a tenth of
		// all.
		if q80, q95 := open.Quantile(0.7), open.Quantile(0.95); q80 > 20*time.Millisecond ||
			q95 < 80*time.Millisecond {
			t.Errorf("open loop: p70 is %s, want little; p95 is %s, want over 80ms", q80, q95)
		}
		if longest := open.Quantile(1); longest < 190*time.Millisecond ||
			longest > 202*time.Millisecond {
			t.Errorf("open loop: the longest is %s, want about 200ms", longest)
		}
		closed := ClosedLoop{InFlight: 1, Duration: time.Second, Timeout: time.Minute}
		result := closed.Run(t.Context(), func(int) func() Request { return oneRequest },
			stalling())
		if q99 := result.Latency[Recommend].Quantile(0.99); q99 > time.Millisecond {
			t.Errorf("closed loop: p99 is %s, want it blind to the stall", q99)
		}
	})
}

// What this process itself sends too late is part of the latency as well.
func TestOwnDelayIsAccountedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := OpenLoop{Rate: 1000, Duration: time.Second, Timeout: time.Minute, Seed: 1}
		paused := false
		c := bubbleClock{begin: time.Now(), late: func(at time.Duration) time.Duration {
			if paused || at < 500*time.Millisecond {
				return 0
			}
			paused = true
			return 200 * time.Millisecond
		}}
		result := loop.run(t.Context(), c, oneRequest,
			callerFunc(func(context.Context, Request) error { return nil }))
		for name, h := range map[string]*Histogram{"latency": result.Latency[Recommend],
			"late": result.Late} {
			if q95, longest := h.Quantile(0.95), h.Quantile(1); q95 < 80*time.Millisecond ||
				longest.Round(time.Millisecond) != 200*time.Millisecond {
				t.Errorf("%s: p95 is %s and the longest %s, want over 80ms and 200ms", name, q95,
					longest)
			}
		}
	})
}

// A request that is not answered in time counts with at least the deadline, and an open loop goes
// on meanwhile.
func TestMissedDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := OpenLoop{Rate: 100, Duration: time.Second, Timeout: 50 * time.Millisecond, Seed: 1}
		result := loop.run(t.Context(), bubbleClock{begin: time.Now()}, oneRequest,
			callerFunc(func(ctx context.Context, _ Request) error {
				<-ctx.Done()
				return ctx.Err()
			}))
		if result.answered != 0 || result.Failed() != result.Latency[Recommend].Count() ||
			result.Err() == nil {
			t.Errorf("%d answered, %d failed, %d latencies, error %v; want all failed",
				result.answered, result.Failed(),
				result.Latency[Recommend].Count(), result.Err())
		}
		if shortest := result.Latency[Recommend].Quantile(0); shortest < 49*time.Millisecond {
			t.Errorf("a missed deadline counts as %s, want at least 50ms", shortest)
		}
	})
}

// A closed loop keeps its number of requests in flight and counts the answers within the
// measurement.
func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, 8)
		loop := ClosedLoop{InFlight: 8, Warmup: 105 * time.Millisecond, Duration: time.Second,
			Timeout: time.Minute}
		result := loop.Run(t.Context(), func(int) func() Request { return oneRequest },
			callerFunc(func(context.Context, Request) error {
				select {
				case slots <- struct{}{}:
				default:
					t.Error("more requests in flight than clients")
					return nil
				}
				time.Sleep(10 * time.Millisecond)
				<-slots
				return nil
			}))
		if result.answered != 800 || result.Rate() != 800 {
			t.Errorf("%d answers, %v a second, want 8 clients at 100 a second each",
				result.answered, result.Rate())
		}
	})
}

// The end of the context ends both loops early, with what was measured until then.
func TestLoopsEndWithContext(t *testing.T) {
	sleepy := callerFunc(func(ctx context.Context, _ Request) error {
		select {
		case <-time.After(10 * time.Millisecond):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	for name, run := range map[string]func(ctx context.Context) *Result{
		"open": func(ctx context.Context) *Result {
			return OpenLoop{Rate: 100, Duration: time.Hour, Timeout: time.Minute}.run(ctx,
				bubbleClock{begin: time.Now()}, oneRequest, sleepy)
		},
		"closed": func(ctx context.Context) *Result {
			return ClosedLoop{InFlight: 2, Duration: time.Hour, Timeout: time.Minute}.Run(ctx,
				func(int) func() Request { return oneRequest }, sleepy)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			result := run(ctx)
			if n := result.answered; n < 50 || n > 250 || result.Elapsed > 2*time.Second {
				t.Errorf("%s loop: %d answers in %s, want about 100 or 200 in a second", name, n,
					result.Elapsed)
			}
		})
	}
}

// A closed loop that has no answer in its time goes on until it has one.
func TestClosedLoopHasAnAnswer(t *testing.T) {
	slow := callerFunc(func(context.Context, Request) error {
		time.Sleep(3 * time.Second)
		return nil
	})
	synctest.Test(t, func(t *testing.T) {
		result := ClosedLoop{InFlight: 2, Warmup: time.Second, Duration: time.Second,
			Timeout: time.Minute}.Run(t.Context(), func(int) func() Request { return oneRequest }, slow)
		if result.answered != 1 || result.Elapsed != 2*time.Second {
			t.Errorf("%d answers in %s, want 1 in 2s", result.answered, result.Elapsed)
		}
	})
}
