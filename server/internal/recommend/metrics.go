package recommend

import (
	"github.com/prometheus/client_golang/prometheus"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics are the series of lists.
type Metrics struct {
	vecs     []prometheus.Collector
	results  map[pb.ResultSource]prometheus.Counter
	degraded map[pb.Degradation]prometheus.Counter
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	results := metric.Counters("gsimc_recommend_results_total",
		"Items returned by Recommend, by why they are on the list.", "source")
	degraded := metric.Counters("gsimc_recommend_degraded_total",
		"Recommend answers that are short or not personal, by reason.", "reason")
	return &Metrics{
		vecs:     []prometheus.Collector{results, degraded},
		results:  metric.Series[pb.ResultSource](results, pb.ResultSource_name),
		degraded: metric.Series[pb.Degradation](degraded, pb.Degradation_name),
	}
}

// Collectors returns the metrics for a registry.
func (m *Metrics) Collectors() []prometheus.Collector { return m.vecs }
