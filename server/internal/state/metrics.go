package state

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics count the reads of user states.
type Metrics struct {
	requests                    *prometheus.CounterVec
	hit, advance, load, rebuild prometheus.Counter
}

// NewMetrics makes the metrics of a [Cache].
func NewMetrics() *Metrics {
	requests := metric.Counters("gsimc_user_state_requests_total",
		"Reads of user states: hit (as cached), advance (cached, events folded in), load (not "+
			"cached, replayed), "+
			"rebuild (cached, but by another model, of another life of the user or damaged by a "+
			"panic, so replayed).", "result")
	return &Metrics{
		requests: requests,
		hit:      requests.WithLabelValues("hit"), advance: requests.WithLabelValues("advance"),
		load: requests.WithLabelValues("load"), rebuild: requests.WithLabelValues("rebuild"),
	}
}

// Collectors returns the metrics for a registry.
func (m *Metrics) Collectors() []prometheus.Collector { return []prometheus.Collector{m.requests} }
