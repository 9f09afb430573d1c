package loadtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Overload says how a server is overloaded.
type Overload struct {
	Observe  bool // Observe instead of Recommend
	InFlight int  // of the closed loop that measures the capacity
	// Probe asks the server for its health as an orchestrator does.
	Probe func(context.Context) error
}

const (
	probeEvery   = 100 * time.Millisecond
	probeTimeout = time.Second // a slower probe is a bad one
	// A server has recovered when it answers this many requests in a row, each within the deadline.
	recovered      = 20
	recoveryLimit  = time.Minute
	recoveryPause  = 10 * time.Millisecond
	admittedFactor = 2 // p99 of the admitted, of that at the first load
)

// overloads are the loads, in shares of the capacity, and the least shares of the capacity that
// should be answered in time. The first one is not an overload.
var overloads = []struct{ load, goodput float64 }{{0.8, 0}, {2, 0.75}, {5, 0.5}, {10, 0.25}}

// Overload measures what a server answers in time when it gets more than it can: open loops at
// multiples of the rate that a closed loop reached just before.
func (s *Suite) Overload(ctx context.Context, o Overload) error {
	t, kind, group := s.recommendOnly(), Recommend, "overload"
	if o.Observe {
		t, kind, group = s.observeOnly(), Observe, "overload of Observe"
	}
	return s.rounds(ctx, group, "", 0, 1+len(overloads),
		func(ctx context.Context, r *round) error {
			full, err := r.closed(ctx, "capacity", s.Server, t, o.InFlight)
			if err != nil {
				return err
			}
			capacity := full.Rate()
			r.add("capacity", "requests/s", capacity)
			var quiet float64
			for _, x := range overloads {
				p99, err := r.overload(ctx, t, kind, o, x.load, capacity, x.goodput, quiet)
				if err != nil {
					return err
				}
				if quiet == 0 {
					quiet = p99
				}
			}
			return nil
		})
}

// overload measures one load and returns the p99 of the admitted requests, in µs.
func (r *round) overload(ctx context.Context, t Traffic, kind Kind, o Overload,
	load, capacity, goodput, quiet float64) (p99 float64, err error) {
	r.begin()
	s := r.suite
	probing, stop := context.WithCancel(ctx)
	var probes probes
	var wg sync.WaitGroup
	wg.Go(func() { probes.run(probing, o.Probe) })
	tally := &tally{to: s.Server, admitted: NewHistogram()}
	loop := OpenLoop{Rate: load * capacity, Duration: s.Duration, Timeout: s.Timeout,
		Seed: t.Seed + uint64(s.sources)}
	result := loop.Run(ctx, s.source(&t).Next, tally)
	took := s.recover(ctx, t)
	stop()
	wg.Wait()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	name := func(what string) string { return fmt.Sprintf("%g× %s", load, what) }
	p99 = micros(tally.admitted.Quantile(0.99))
	var atLeast, atMost *float64
	if goodput > 0 {
		atLeast = limit(goodput)
	}
	r.ratio(name("goodput / capacity"), float64(tally.answered)/s.Duration.Seconds()/capacity, nil,
		atLeast)
	r.add(name("admitted "+kind.String()+" p99"), "µs", p99)
	if quiet > 0 {
		atMost = limit(admittedFactor)
		r.ratio(name("admitted p99 / that at 0.8×"), p99/quiet, atMost, nil)
	}
	r.add(name("refused"), "count", float64(tally.refused))
	r.add(name("missed the deadline"), "count", float64(tally.missed))
	r.add(name("failed otherwise"), "count", float64(tally.failed))
	r.add(name("sent late by p99"), "µs", micros(result.Late.Quantile(0.99)))
	r.add(name("probes"), "count", float64(probes.good+probes.bad))
	r.add(name("bad probes"), "count", float64(probes.bad))
	r.add(name("recovery"), "µs", micros(took))
	if s.RSS != nil {
		r.add(name("resident memory"), "MiB", float64(s.RSS())/(1<<20))
	}
	return p99, nil
}

// recover waits until a server answers again, and returns how long that took.
func (s *Suite) recover(ctx context.Context, t Traffic) time.Duration {
	begin, next := time.Now(), s.source(&t).Next
	first := begin
	for good := 0; good < recovered && ctx.Err() == nil; {
		sent := time.Now()
		if sent.Sub(begin) > recoveryLimit {
			return recoveryLimit
		}
		if callWithin(ctx, s.Timeout, next(), s.Server) != nil {
			good, first = 0, time.Now()
		} else {
			good++
		}
		time.Sleep(recoveryPause)
	}
	return first.Sub(begin)
}

// tally counts what becomes of calls.
type tally struct {
	to       Caller
	admitted *Histogram

	mu                                sync.Mutex
	answered, refused, missed, failed int
}

// Call implements [Caller].
func (t *tally) Call(ctx context.Context, r Request) error {
	sent := time.Now()
	err := t.to.Call(ctx, r)
	took := time.Since(sent)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch code := status.Code(err); {
	case err == nil:
		t.answered++
		t.admitted.Record(took)
	case code == codes.ResourceExhausted:
		t.refused++
	case code == codes.DeadlineExceeded:
		t.missed++
	default:
		t.failed++
	}
	return err
}

// probes are the outcomes of probes.
type probes struct{ good, bad int }

// run probes until ctx ends.
func (p *probes) run(ctx context.Context, probe func(context.Context) error) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		timed, cancel := context.WithTimeout(ctx, probeTimeout)
		err := probe(timed)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.bad++
		default:
			p.good++
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
