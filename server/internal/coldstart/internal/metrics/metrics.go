// Package metrics holds what is told about extensions of the model.
package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics tell about extensions of the model and about the drift.
type Metrics struct {
	Items, Pending prometheus.Gauge
	Drift          prometheus.Gauge
	Seconds        prometheus.Histogram
	Failures       prometheus.Counter
	Trends         prometheus.Counter

	// Of servers that share a store.
	owner                     prometheus.Gauge
	Refused, Notices, Dropped prometheus.Counter
}

// SetOwner tells whether this server places new items for all.
func (m *Metrics) SetOwner(is bool) {
	value := 0.0
	if is {
		value = 1
	}
	m.owner.Set(value)
}

// New makes metrics of no extension yet.
func New() *Metrics {
	m := &Metrics{
		Items: metric.Gauge("gsimc_extended_items",
			"Items that the serving model was extended by, and not trained on: events "+
				"named them, or the catalogue says what they are like."),
		Pending: metric.Gauge("gsimc_new_items",
			"Items of events that the model file does not have. Items by which the loaded "+
				"model was extended count too."),
		Drift: metric.Gauge("gsimc_drift_energy_ratio",
			"Share of the energy of recent users' events that lies within the model's "+
				"basis, over that share at the "+
				"training. It falls as users leave what the model knows: train again below 0.9. "+
				"NaN: too few events."),
		Seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "gsimc_extension_seconds", Buckets: prometheus.ExponentialBuckets(.01, 4, 8),
			Help: "Time of extending the serving model, the reading of histories included.",
		}),
		Failures: metric.Counter("gsimc_extension_failures_total",
			"Extensions that failed."),
		Trends: metric.Counter("gsimc_trends_total",
			"Snapshots of the trends of items that have come to serve."),
		owner: metric.Gauge("gsimc_extension_owner",
			"1 on the one of several servers over a store that places new items for all."),
		Refused: metric.Counter("gsimc_extensions_refused_total",
			"Extensions and trends of other servers that were damaged or of another model."),
		Notices: metric.Counter("gsimc_extension_notices_total",
			"Notices of new items, of users who came and of users who went, that were "+
				"posted for the server that places new items."),
		Dropped: metric.Counter("gsimc_extension_notices_dropped_total",
			"Notices that were given up, because the store took none for long."),
	}
	m.Drift.Set(math.NaN())
	return m
}

// Collectors returns the metrics for a registry.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.Items, m.Pending, m.Drift, m.Seconds, m.Failures,
		m.Trends, m.owner, m.Refused, m.Notices, m.Dropped}
}
