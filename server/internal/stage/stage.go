// Package stage measures the parts of a call: for metrics, for traces, and for the log.
package stage

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/tracing"
)

// Stage is a part of the work for a call.
type Stage int

// The stages. Those up to Encode are of lists, and have a series each; Store is the writing of
// events.
const (
	State Stage = iota
	Filter
	TopN
	Encode
	Store
	numStages
)

var names = [numStages]string{"state", "filter", "topn", "encode", "store"}

// A call's ticket has room for the time of each stage.
var _ [admission.Parts - numStages]struct{}

// Watch tells the time between the stages of a call.
type Watch struct {
	ticket *admission.Ticket
	last   time.Time
}

// Start returns the watch of a call whose first stage begins.
func Start(ctx context.Context) Watch { return Watch{admission.Of(ctx), time.Now()} }

// Lap ends a stage and returns its time.
func (w *Watch) Lap(of Stage) time.Duration {
	now := time.Now()
	d := now.Sub(w.last)
	w.last = now
	w.ticket.Spent(int(of), d)
	return d
}

// Meter counts latencies of calls.
type Meter struct {
	Metrics *Metrics
	Traced  bool // a call may have a trace
}

// Ended counts a stage of a list that has ended, and tells the trace of the call of it.
func (m Meter) Ended(ctx context.Context, of Stage, watch *Watch) {
	m.Observe(ctx, m.Metrics.seconds[of], watch.Lap(of))
	if m.Traced {
		tracing.Stage(ctx, names[of])
	}
}

// Observe counts a latency of a call, with its trace as the exemplar if that is recorded.
func (m Meter) Observe(ctx context.Context, latency prometheus.Observer, d time.Duration) {
	if m.Traced {
		if labels := tracing.Exemplar(ctx); labels != nil {
			latency.(prometheus.ExemplarObserver).ObserveWithExemplar(d.Seconds(), labels)
			return
		}
	}
	latency.Observe(d.Seconds())
}

// Metrics are the series of the stages of lists.
type Metrics struct {
	metric.Set
	seconds [Store]prometheus.Observer
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{}
	vec := metric.Add(&m.Set, prometheus.NewHistogramVec(
		metric.LatencyOpts("gsimc_recommend_stage_seconds", "Time of each stage of Recommend."),
		[]string{"stage"}))
	for i := range m.seconds {
		m.seconds[i] = vec.WithLabelValues(names[i])
	}
	return m
}

// Log says where the time of a call has gone: those of its stages that took any.
func Log(t *admission.Ticket) slog.Attr {
	var parts []any
	add := func(name string, d time.Duration) {
		if d > 0 {
			parts = append(parts, Millis(name+"_ms", d))
		}
	}
	add("queue", t.Waited())
	for i, name := range names {
		add(name, t.Part(i))
	}
	return slog.Group("stages", parts...)
}

// Millis logs a duration; key ends in _ms, since a [slog.Duration] is a bare number of nanoseconds
// in JSON.
func Millis(key string, d time.Duration) slog.Attr {
	return slog.Float64(key, float64(d.Microseconds())/1e3)
}

// Duration logs how long something took.
func Duration(d time.Duration) slog.Attr { return Millis("duration_ms", d) }
