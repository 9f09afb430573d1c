package passes

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics tell how calls share passes.
type Metrics struct {
	metric.Set
	size, wait prometheus.Histogram
}

// NewMetrics makes the metrics of a [Batcher].
func NewMetrics() *Metrics {
	m := &Metrics{}
	m.size = m.Histogram("gsimc_topn_batch_size", "Requests answered by one pass over the basis.",
		[]float64{1, 2, 4, 8, MaxCalls})
	m.wait = m.Latency("gsimc_topn_wait_seconds",
		"Time that a request waited for a pass over the basis, 0 for most.")
	return m
}
