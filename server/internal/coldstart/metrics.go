package coldstart

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics tell about extensions of the model and about the drift.
type Metrics struct {
	items, pending prometheus.Gauge
	drift          prometheus.Gauge
	seconds        prometheus.Histogram
	failures       prometheus.Counter
}

// NewMetrics makes the metrics of an [Extender].
func NewMetrics() *Metrics {
	m := &Metrics{
		items: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "gsimc_extended_items",
			Help: "Items that the serving model was extended by: events named them, and it was " +
				"not trained on them.",
		}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "gsimc_new_items",
			Help: "Items that events named and the loaded model was not trained on, those that " +
				"it was extended by included.",
		}),
		drift: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "gsimc_drift_energy_ratio",
			Help: "Share of the energy of recent users' events that lies within the model's " +
				"basis, over that share at the " +
				"training. It falls as users leave what the model knows: train again below 0.9. " +
				"NaN: too few events.",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "gsimc_extension_seconds", Buckets: prometheus.ExponentialBuckets(.01, 4, 8),
			Help: "Time of extending the serving model, the reading of histories included.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gsimc_extension_failures_total", Help: "Extensions that failed.",
		}),
	}
	m.drift.Set(math.NaN())
	return m
}

// Collectors returns the metrics for a registry.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.items, m.pending, m.drift, m.seconds, m.failures}
}
