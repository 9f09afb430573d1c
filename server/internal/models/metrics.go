package models

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics count the loads of model files.
type Metrics struct {
	loads            *prometheus.CounterVec
	success, failure prometheus.Counter
}

// NewMetrics makes the metrics of a [Holder].
func NewMetrics() *Metrics {
	loads := metric.Counters("gsimc_model_loads_total", "Loads of the model file.", "result")
	return &Metrics{
		loads:   loads,
		success: loads.WithLabelValues("success"), failure: loads.WithLabelValues("failure"),
	}
}

// Collectors returns the metrics for a registry.
func (m *Metrics) Collectors() []prometheus.Collector { return []prometheus.Collector{m.loads} }

// Refused counts a file that was refused before a [Holder] saw it.
func (m *Metrics) Refused() { m.failure.Inc() }
