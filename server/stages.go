package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/tracing"
)

// stage is a part of the work for a call.
type stage int

// The stages. Those up to encode are of lists, and have a series each; store is the writing of
// events.
const (
	stageState stage = iota
	stageFilter
	stageTopN
	stageEncode
	stageStore
	numStages
)

var stageNames = [numStages]string{"state", "filter", "topn", "encode", "store"}

// A call's ticket has room for the time of each stage.
var _ [admission.Parts - numStages]struct{}

// stopwatch tells the time between the stages of a call.
type stopwatch struct {
	ticket *admission.Ticket
	last   time.Time
}

func startWatch(ctx context.Context) stopwatch {
	return stopwatch{admission.Of(ctx), time.Now()}
}

// lap ends a stage and returns its time.
func (w *stopwatch) lap(of stage) time.Duration {
	now := time.Now()
	d := now.Sub(w.last)
	w.last = now
	w.ticket.Spent(int(of), d)
	return d
}

// ended counts a stage of a list that has ended, and tells the trace of the call of it.
func (s *Server) ended(ctx context.Context, of stage, watch *stopwatch) {
	s.observe(ctx, s.metrics.stage[of], watch.lap(of))
	if s.cfg.Tracer != nil {
		tracing.Stage(ctx, stageNames[of])
	}
}

// observe counts a latency of a call, with its trace as the exemplar if that is recorded.
func (s *Server) observe(ctx context.Context, latency prometheus.Observer, d time.Duration) {
	if s.cfg.Tracer != nil {
		if labels := tracing.Exemplar(ctx); labels != nil {
			latency.(prometheus.ExemplarObserver).ObserveWithExemplar(d.Seconds(), labels)
			return
		}
	}
	latency.Observe(d.Seconds())
}

// stages says where the time of a call has gone: those of its stages that took any.
func stages(t *admission.Ticket) slog.Attr {
	var parts []any
	add := func(name string, d time.Duration) {
		if d > 0 {
			parts = append(parts, millis(name+"_ms", d))
		}
	}
	add("queue", t.Waited())
	for i, name := range stageNames {
		add(name, t.Part(i))
	}
	return slog.Group("stages", parts...)
}
