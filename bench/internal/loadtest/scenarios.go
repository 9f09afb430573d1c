package loadtest

import (
	"context"
	"sync/atomic"
	"time"
)

// Limits of the figures. A server cannot do without the transport, the search and the disk; beside
// them it should cost little.
const (
	latencyLimit    = 1.15 // Recommend p50, of echo p50 + in-process p50
	throughputLimit = 0.40 // Recommend rate, of the echo's
	observeLimit    = 0.80 // durable Observe rate, of the echo's
	syncLimit       = 2.5  // Observe p50 − echo p50, in durable writes of the disk
	tailLimit       = 5    // p99 / p50 of Recommend under load
)

// recommendOnly is the traffic without events.
func (s *Suite) recommendOnly() Traffic {
	t := s.Traffic
	t.Observe, t.Stream = 0, 0
	return t
}

// observeOnly is the traffic of single events.
func (s *Suite) observeOnly() Traffic {
	t := s.Traffic
	t.Observe, t.Stream = 1, 0
	return t
}

// Latency measures Recommend with one request in flight, beside the echo and the search in this
// process. The search is measured twice: in a loop, and with pauses as long as an echo takes. The
// search of a server follows such a pause, in which the processor has slept or done other work, and
// takes longer than in a loop.
func (s *Suite) Latency(ctx context.Context) error {
	t := s.recommendOnly()
	measurements := 2
	if s.InProcess != nil {
		measurements = 4
	}
	return s.rounds(ctx, "latency", "", 0, measurements, func(ctx context.Context, r *round) error {
		server, err := r.closed(ctx, "Recommend", s.Server, t, 1)
		if err != nil {
			return err
		}
		echo, err := r.closed(ctx, "echo", s.Echo, t, 1)
		if err != nil {
			return err
		}
		r.latencies("Recommend", server.Latency[Recommend], p50, p90, p99, p999, most)
		r.latencies("echo", echo.Latency[Recommend], p50, p99)
		if s.InProcess == nil {
			return nil
		}
		inside, err := r.closed(ctx, "in-process search", s.InProcess, t, 1)
		if err != nil {
			return err
		}
		r.latencies("in-process search", inside.Latency[Recommend], p50, p99)
		paused, err := r.paused(ctx, "in-process search after a pause", s.InProcess, t,
			echo.Latency[Recommend].Quantile(0.5))
		if err != nil {
			return err
		}
		r.latencies("in-process search after a pause", paused.Latency[Recommend], p50, p99)
		floor := echo.Latency[Recommend].Quantile(0.5) + inside.Latency[Recommend].Quantile(0.5)
		r.ratio("Recommend p50 / (echo p50 + in-process p50)",
			float64(server.Latency[Recommend].Quantile(0.5))/float64(floor), limit(latencyLimit),
			nil)
		return nil
	})
}

// Throughput measures the rate of Recommend with inFlight requests in flight, beside the echo.
func (s *Suite) Throughput(ctx context.Context, inFlight int) error {
	t := s.recommendOnly()
	return s.rounds(ctx, "throughput", "", 0, 2, func(ctx context.Context, r *round) error {
		return r.againstEcho(ctx, t, Recommend, inFlight, throughputLimit)
	})
}

// Observe measures the rate of durable Observe with inFlight requests in flight, beside the echo.
func (s *Suite) Observe(ctx context.Context, inFlight int) error {
	t := s.observeOnly()
	return s.rounds(ctx, "observe", "", 0, 2, func(ctx context.Context, r *round) error {
		if err := r.againstEcho(ctx, t, Observe, inFlight, observeLimit); err != nil {
			return err
		}
		if s.Sync == nil {
			return nil
		}
		sync, err := s.Sync()
		if err != nil {
			return err
		}
		server, echo := r.value("Observe p50"), r.value("echo p50")
		r.add("durable write of the disk p50", "µs", micros(sync))
		r.ratio("(Observe p50 - echo p50) / durable write p50", (server-echo)/micros(sync),
			limit(syncLimit), nil)
		return nil
	})
}

// againstEcho measures one kind of requests in a closed loop, by the server and by the echo.
func (r *round) againstEcho(
	ctx context.Context, t Traffic, kind Kind, inFlight int, atLeast float64,
) error {
	counted, spent := &counter{to: r.suite.Server}, r.stopwatch()
	server, err := r.closed(ctx, kind.String(), counted, t, inFlight)
	if err != nil {
		return err
	}
	work := spent(ctx)
	echo, err := r.closed(ctx, "echo", r.suite.Echo, t, inFlight)
	if err != nil {
		return err
	}
	r.add(kind.String()+" rate", "requests/s", server.Rate())
	r.work(kind.String(), work, counted.calls.Load())
	r.add("echo rate", "requests/s", echo.Rate())
	r.latencies(kind.String(), server.Latency[kind], p50, p99, p999)
	r.latencies("echo", echo.Latency[kind], p50, p99)
	r.add("failed requests", "count", float64(server.Failed()+echo.Failed()))
	r.ratio(kind.String()+" rate / echo rate", server.Rate()/echo.Rate(), nil, limit(atLeast))
	return nil
}

// value is a figure of this round.
func (r *round) value(name string) float64 {
	for _, f := range r.measured {
		if f.name == name {
			return f.value
		}
	}
	panic("loadtest: no figure " + name)
}

// StreamWindow is the number of events in flight on each connection when events are streamed at
// full speed.
const StreamWindow = 4096

// Ingestion measures the rate at which streamed events become durable, with batch events in a
// message.
func (s *Suite) Ingestion(ctx context.Context, batch int) error {
	return s.rounds(ctx, "stream", "", 0, 1, func(ctx context.Context, r *round) error {
		r.begin()
		sources := make([]*Source, len(s.Server.conns))
		for i := range sources {
			sources[i] = s.source(&s.Traffic)
		}
		latency := NewHistogram()
		var acked, all atomic.Int64
		spent, begin := r.stopwatch(), time.Now()
		timed, cancel := context.WithTimeout(ctx, s.Warmup+s.Duration)
		defer cancel()
		_, err := s.Server.Pump(timed, Pump{
			Window: max(StreamWindow/batch, 1), Batch: batch,
			Next: func(connection int) []byte { return sources[connection].Event() },
			Acked: func(d time.Duration, events int) {
				all.Add(int64(events))
				if since := time.Since(begin); since > s.Warmup && since < s.Warmup+s.Duration {
					acked.Add(int64(events))
					latency.Record(d)
				}
			},
		})
		if err != nil {
			return err
		}
		r.add("streamed events", "events/s", float64(acked.Load())/s.Duration.Seconds())
		r.latencies("acknowledgement", latency, p50, p99)
		r.work("streamed event", spent(ctx), all.Load())
		return nil
	})
}

// Load is the rate of an open loop: Rate requests a second, or, if that is 0, the share Share of
// the rate that a closed loop with InFlight requests reached just before.
type Load struct {
	Rate     float64
	Share    float64
	InFlight int
}

// Mixed measures the traffic with its events in an open loop.
func (s *Suite) Mixed(ctx context.Context, load Load) error {
	measurements := 1
	if load.Rate == 0 {
		measurements = 2
	}
	return s.rounds(ctx, "mixed", "", 0, measurements, func(ctx context.Context, r *round) error {
		rate := load.Rate
		if rate == 0 {
			full, err := r.closed(ctx, "full load", s.Server, s.Traffic, load.InFlight)
			if err != nil {
				return err
			}
			r.add("closed loop rate", "requests/s", full.Rate())
			rate = load.Share * full.Rate()
		}
		result, err := r.open(ctx, "open loop", s.Server, s.Traffic, rate)
		if err != nil {
			return err
		}
		r.add("intended rate", "requests/s", rate)
		r.add("answered rate", "requests/s", result.Rate())
		for kind, h := range result.Latency {
			if h.Count() > 0 {
				r.latencies(Kind(kind).String(), h, p50, p90, p99, p999, most)
			}
		}
		r.latencies("sent late by", result.Late, p50, p99)
		r.add("failed requests", "count", float64(result.Failed()))
		if h := result.Latency[Recommend]; h.Count() > 0 {
			r.ratio("Recommend p99 / p50", float64(h.Quantile(0.99))/float64(h.Quantile(0.5)),
				limit(tailLimit), nil)
		}
		return nil
	})
}
