package loadtest

import (
	"context"
	"fmt"
	"time"
)

const (
	// cataloguePause is the pause before each Recommend that runs beside writes, so that it takes
	// little from them.
	cataloguePause = 5 * time.Millisecond
	// rewrites is the number of batches that are written over items that are there.
	rewrites = 200
)

// Catalogue measures a catalogue of n items, which are those of the traffic and others: the rate of
// its writing, the latency of batches of 1,000 items, new ones and ones over others, and of
// Recommend meanwhile and before. The items are written once, whatever the repetitions.
func (s *Suite) Catalogue(ctx context.Context, n int) error {
	once := *s
	once.Repetitions = 1
	err := once.rounds(ctx, "catalogue", "", 0, 3, func(ctx context.Context, r *round) error {
		t := once.recommendOnly()
		alone, err := r.paused(ctx, "Recommend before", once.Server, t, cataloguePause)
		if err != nil {
			return err
		}
		r.latencies("Recommend before", alone.Latency[Recommend], p50, p99, most)
		r.memoryAs("server RSS before")
		begun := time.Now()
		if err := r.write(ctx, "new items", 0, n); err != nil {
			return err
		}
		r.add("items written", "items/s", float64(n)/time.Since(begun).Seconds())
		if once.Settle != nil {
			once.Settle(ctx)
		}
		r.memoryAs("server RSS after")
		return r.write(ctx, "items over others", 0, min(n, rewrites*upsertBatch))
	})
	s.Continue(&once)
	return err
}

// memoryAs adds the resident memory of the server, if it is known.
func (r *round) memoryAs(name string) {
	if r.suite.RSS != nil {
		r.add(name, "MiB", float64(r.suite.RSS())/(1<<20))
	}
}

// write writes some of the items, with one Recommend in flight beside it.
func (r *round) write(ctx context.Context, what string, first, end int) error {
	r.begin()
	s := r.suite
	beside, stop := context.WithCancel(ctx)
	defer stop()
	const anyTime = 24 * time.Hour // stop ends it
	t := s.recommendOnly()
	next := s.source(&t).Next
	listed := make(chan *Result, 1)
	go func() {
		loop := ClosedLoop{InFlight: 1, Duration: anyTime, Timeout: s.Timeout}
		listed <- loop.Run(beside, func(int) func() Request {
			return func() Request {
				time.Sleep(cataloguePause)
				return next()
			}
		}, s.Server)
	}()
	batches := NewHistogram()
	err := s.Server.LoadCatalogue(ctx, &s.Traffic, first, end,
		func(_ int, took time.Duration) { batches.Record(took) })
	stop()
	result := <-listed
	if err != nil {
		return err
	}
	r.latencies("batch of "+what, batches, p50, p99, most)
	if result.Latency[Recommend].Count() == 0 {
		return fmt.Errorf("no Recommend was answered while %s were written", what)
	}
	r.latencies("Recommend beside "+what, result.Latency[Recommend], p50, p99, most)
	r.add("failed Recommends beside "+what, "count", float64(result.Failed()))
	return nil
}

// MemoryAfterStart adds the resident memory of a server that has just read its catalogue.
func (s *Suite) MemoryAfterStart() {
	if s.RSS != nil {
		s.point("catalogue", "", figure{name: "server RSS after the start", unit: "MiB"},
			Point{Y: spreadOf([]float64{float64(s.RSS()) / (1 << 20)})})
	}
}

// Startup adds how long the server took to start, with and without its catalogue.
func (s *Suite) Startup(name string, took time.Duration) {
	s.point("catalogue", "", figure{name: name, unit: "s"},
		Point{Y: spreadOf([]float64{took.Seconds()})})
}
