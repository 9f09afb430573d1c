package ingest

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/outcome"
)

// eventAgeBuckets are the upper bounds of gsimc_event_age_seconds: a second to a year.
var eventAgeBuckets = []float64{
	1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400,
}

// Metrics are the series of events that came in.
type Metrics struct {
	metric.Set
	total   *prometheus.CounterVec
	age     prometheus.Histogram
	begun   prometheus.Counter
	tooMany struct{ ofServer, ofToken prometheus.Counter } // users who begin
	visible prometheus.Histogram
	streams prometheus.Gauge
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{}
	m.total = m.Counters("gsimc_events_total",
		"Events received, by what became of them and by their type: like, one that has "+
			"a weight, or other, which a malformed event has too.",
		"disposition", "event_type")
	m.age = m.Histogram("gsimc_event_age_seconds",
		"Time from the event_time of a new event to its arrival; 0 without one, or if "+
			"it lies ahead.", eventAgeBuckets)
	m.begun = m.Counter("gsimc_new_users_total",
		"Histories that began: users without one whose first event was stored.")
	refused := m.Counters("gsimc_new_users_refused_total",
		"Events that were refused since too many users began a history, by the limit: server "+
			"(--max-new-users) or token (new-users=N).", "limit")
	m.tooMany.ofServer = refused.WithLabelValues("server")
	m.tooMany.ofToken = refused.WithLabelValues("token")
	m.visible = m.Latency("gsimc_observe_visible_seconds",
		"Time from receiving the first event of a write to its being durable and visible to "+
			"Recommend.")
	m.streams = m.Gauge("gsimc_stream_clients", "Open StreamObserve streams.")
	metric.Series[pb.EventDisposition](m.total.MustCurryWith(
		prometheus.Labels{"event_type": event.DefaultType}), pb.EventDisposition_name)
	return m
}

// dispositions are the values of the label of that name.
var dispositions = func() (names [pb.EventDisposition_EVENT_DISPOSITION_REJECTED + 1]string) {
	for i := range names {
		names[i] = metric.Label(pb.EventDisposition(i))
	}
	return names
}()

// countSettled counts the events of one write; the first of them was received at the given time.
func (s *service) countSettled(
	ctx context.Context, outcomes []eventOutcome, batch []arrival, received time.Time,
) {
	m, visible := s.Metrics, false
	for i := range outcomes {
		o, e := &outcomes[i], &batch[i].record.Event
		m.total.WithLabelValues(dispositions[o.disposition], s.Credits.TypeLabel(e.Type)).Inc()
		switch o.fault {
		case outcome.ErrNewUsers:
			m.tooMany.ofServer.Inc()
		case outcome.ErrNewUsersOfToken:
			m.tooMany.ofToken.Inc()
		}
		visible = visible || o.disposition != pb.EventDisposition_EVENT_DISPOSITION_REJECTED
		if o.isNew() {
			m.age.Observe(max(0, received.Sub(e.Time)).Seconds())
			if o.version.Revision == 1 {
				m.begun.Inc()
			}
		}
	}
	if visible {
		s.Meter.Observe(ctx, s.Metrics.visible, s.Now().Sub(received))
	}
}

// countCredits counts the events of one write that are new, for the lists that they came from.
func (s *service) countCredits(outcomes []eventOutcome, batch []arrival) {
	for i := range outcomes {
		if outcomes[i].isNew() {
			e := &batch[i].record.Event
			s.Credits.Count(batch[i].credit, e.Type, e.Value)
		}
	}
}

// isNew reports whether the event was written, and had not been before.
func (o *eventOutcome) isNew() bool {
	return o.disposition == pb.EventDisposition_EVENT_DISPOSITION_APPLIED ||
		o.disposition == pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM
}
