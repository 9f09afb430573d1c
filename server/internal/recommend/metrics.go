package recommend

import (
	"github.com/prometheus/client_golang/prometheus"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics are the series of lists.
type Metrics struct {
	metric.Set
	results  map[pb.ResultSource]prometheus.Counter
	degraded map[pb.Degradation]prometheus.Counter
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{}
	m.results = metric.Series[pb.ResultSource](m.Counters("gsimc_recommend_results_total",
		"Items returned by Recommend, by why they are on the list.", "source"),
		pb.ResultSource_name)
	m.degraded = metric.Series[pb.Degradation](m.Counters("gsimc_recommend_degraded_total",
		"Recommend answers that are short or not personal, by reason.", "reason"),
		pb.Degradation_name)
	return m
}
