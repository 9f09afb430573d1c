// Package metrics holds what is told about extensions of the model.
package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics tell about extensions of the model and about the drift.
type Metrics struct {
	metric.Set
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
	m := &Metrics{}
	m.Items = m.Gauge("gsimc_extended_items",
		"Items that the serving model was extended by, and not trained on: events "+
			"named them, or the catalogue says what they are like.")
	m.Pending = m.Gauge("gsimc_new_items",
		"Items of events that the model file does not have. Items by which the loaded "+
			"model was extended count too.")
	m.Drift = m.Gauge("gsimc_drift_energy_ratio",
		"Share of the energy of recent users' events that lies within the model's "+
			"basis, over that share at the "+
			"training. It falls as users leave what the model knows: train again below 0.9. "+
			"NaN: too few events.")
	m.Seconds = m.Histogram("gsimc_extension_seconds",
		"Time of extending the serving model, the reading of histories included.",
		prometheus.ExponentialBuckets(.01, 4, 8))
	m.Failures = m.Counter("gsimc_extension_failures_total",
		"Extensions that failed.")
	m.Trends = m.Counter("gsimc_trends_total",
		"Snapshots of the trends of items that have come to serve.")
	m.owner = m.Gauge("gsimc_extension_owner",
		"1 on the one of several servers over a store that places new items for all.")
	m.Refused = m.Counter("gsimc_extensions_refused_total",
		"Extensions and trends of other servers that were damaged or of another model.")
	m.Notices = m.Counter("gsimc_extension_notices_total",
		"Notices of new items, of users who came and of users who went, that were "+
			"posted for the server that places new items.")
	m.Dropped = m.Counter("gsimc_extension_notices_dropped_total",
		"Notices that were given up, because the store took none for long.")
	m.Drift.Set(math.NaN())
	return m
}
