package passes

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics tell how calls share passes.
type Metrics struct{ size, wait prometheus.Histogram }

// NewMetrics makes the metrics of a [Batcher].
func NewMetrics() *Metrics {
	return &Metrics{
		size: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "gsimc_topn_batch_size", Help: "Requests answered by one pass over the basis.",
			Buckets: []float64{1, 2, 4, 8, MaxCalls},
		}),
		wait: metric.Latency("gsimc_topn_wait_seconds",
			"Time that a request waited for a pass over the basis, 0 for most."),
	}
}

// Collectors returns the metrics for a registry.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.size, m.wait}
}
