package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Retraining describes the end of one training from the histories.
type Retraining struct {
	Outcome string        // one of those given to [Metrics.RetrainOutcomes]
	Took    time.Duration // from the beginning to the end
	Ended   time.Time     // when it ended well, with a model; the zero Time if it did not

	Compared             bool // the recalls are known
	RecallOld, RecallNew float64
}

// retrainMetrics are the series of retraining.
type retrainMetrics struct {
	metric.Set
	total   *prometheus.CounterVec
	seconds prometheus.Gauge
	good    prometheus.Gauge
	recall  *prometheus.GaugeVec
}

func newRetrainMetrics() *retrainMetrics {
	m := &retrainMetrics{}
	m.total = m.Counters("gsimc_retrain_total", "Retrainings, by how they ended.", "outcome")
	m.seconds = m.Gauge("gsimc_retrain_seconds", "Time of the last retraining.")
	m.good = m.Gauge("gsimc_retrain_last_success_timestamp_seconds",
		"When the last retraining ended that gave a model, taken or no better than the "+
			"old one; 0: none since the start.")
	m.recall = m.Gauges("gsimc_retrain_recall",
		"Recall on the latest events that decided the last retraining.", "model")
	return m
}

// RetrainOutcomes names the outcomes that a retraining can have. The series of each exists from
// then on, with 0, so that rates are right from the first retraining on.
func (m *Metrics) RetrainOutcomes(outcomes ...string) {
	for _, outcome := range outcomes {
		m.retrain.total.WithLabelValues(outcome)
	}
}

// Retrained records the end of a retraining. It is safe for concurrent use.
func (m *Metrics) Retrained(r Retraining) {
	m.retrain.total.WithLabelValues(r.Outcome).Inc()
	m.retrain.seconds.Set(r.Took.Seconds())
	if !r.Ended.IsZero() {
		m.retrain.good.Set(float64(r.Ended.UnixMilli()) / 1e3)
	}
	if r.Compared {
		m.retrain.recall.WithLabelValues("old").Set(r.RecallOld)
		m.retrain.recall.WithLabelValues("new").Set(r.RecallNew)
	}
}
