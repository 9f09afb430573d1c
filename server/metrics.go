package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/coldstart"
	"github.com/gsimc/gsimc/server/internal/credit"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/ingest"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/quality"
	"github.com/gsimc/gsimc/server/internal/recommend"
	"github.com/gsimc/gsimc/server/internal/retention"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/state"
)

// Metrics are the Prometheus metrics of one server, in a registry of their own. Labels have few,
// fixed values; ids of users, items and events are never among them.
type Metrics struct {
	registry *prometheus.Registry

	// Series of the parts of the server.
	admission *admission.Metrics
	arms      *arms.Metrics
	calls     *calls.Metrics
	coldstart *coldstart.Metrics
	credit    *credit.Metrics
	doors     *doors.Metrics
	events    *ingest.Metrics
	filters   *filters.Metrics
	models    *models.Metrics
	passes    *passes.Metrics
	quality   *quality.Metrics
	recommend *recommend.Metrics
	retention *retention.Metrics
	retrain   *retrainMetrics
	stages    *stage.Metrics
	states    *state.Metrics

	own        metric.Set
	typesTaken func(good bool) // counts changes of the file of event types
	storeSync  prometheus.Histogram
}

// NewMetrics makes the metrics. Call it before [New] if another part, such as the store, reports to
// them.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		admission: admission.NewMetrics(),
		arms:      arms.NewMetrics(),
		calls:     calls.NewMetrics(),
		coldstart: coldstart.NewMetrics(),
		credit:    credit.NewMetrics(),
		doors:     doors.NewMetrics(),
		events:    ingest.NewMetrics(),
		filters:   filters.NewMetrics(),
		models:    models.NewMetrics(),
		passes:    passes.NewMetrics(),
		quality:   quality.NewMetrics(),
		recommend: recommend.NewMetrics(),
		retention: retention.NewMetrics(),
		retrain:   newRetrainMetrics(),
		stages:    stage.NewMetrics(),
		states:    state.NewMetrics(),
	}
	m.storeSync = m.own.Latency("gsimc_store_sync_seconds",
		"Time of one sync of the store's log to disk.")
	m.typesTaken = metric.Outcomes(m.own.Counters("gsimc_event_types_reloads_total",
		"Changes of the file of event types: success, or failure (the old weights stay).",
		"result"))
	m.registry.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(
			collectors.MetricsGC, collectors.MetricsScheduler)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, part := range []interface{ Collectors() []prometheus.Collector }{
		&m.own, m.admission, m.arms, m.calls, m.coldstart, m.credit, m.doors, m.events, m.filters,
		m.models, m.passes, m.quality, m.recommend, m.retention, m.retrain, m.stages,
		m.states,
	} {
		m.registry.MustRegister(part.Collectors()...)
	}
	return m
}

// ModelRefused counts a model file that was refused before it was loaded.
func (m *Metrics) ModelRefused() { m.models.Refused() }

// StoreSynced records that the store synced its log to disk in time d. The store is configured to
// call it after each sync. It is safe for concurrent use.
func (m *Metrics) StoreSynced(d time.Duration) { m.storeSync.Observe(d.Seconds()) }
