package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Outcomes of a retraining.
const (
	RetrainSwapped    = "swapped"    // the new model serves
	RetrainKept       = "kept"       // the new model is worse, the old one serves
	RetrainSuperseded = "superseded" // a third model was loaded meanwhile
	RetrainSkipped    = "skipped"    // too few new events to judge a new model by
	RetrainFailed     = "failed"     // there is no new model
)

// Retraining is how one training from the histories ended.
type Retraining struct {
	Outcome string        // RetrainSwapped, RetrainKept, …
	Took    time.Duration // all of it

	Compared             bool // the recalls are known
	RecallOld, RecallNew float64
}

// retrainMetrics are the series of retraining.
type retrainMetrics struct {
	total   *prometheus.CounterVec
	seconds prometheus.Gauge
	recall  *prometheus.GaugeVec
}

func newRetrainMetrics() *retrainMetrics {
	m := &retrainMetrics{
		total: metric.Counters("gsimc_retrain_total", "Retrainings: swapped (the new model serves), kept (it was worse than the old "+
			"one), superseded (another model was loaded meanwhile), skipped (too few new events to judge by), failed.", "outcome"),
		seconds: prometheus.NewGauge(prometheus.GaugeOpts{Name: "gsimc_retrain_seconds", Help: "Time of the last retraining."}),
		recall: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "gsimc_retrain_recall",
			Help: "Recall on the latest events that decided the last retraining."}, []string{"model"}),
	}
	for _, outcome := range []string{RetrainSwapped, RetrainKept, RetrainSuperseded, RetrainSkipped, RetrainFailed} {
		m.total.WithLabelValues(outcome)
	}
	return m
}

// Collectors returns the metrics for a registry.
func (m *retrainMetrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.total, m.seconds, m.recall}
}

// Retrained records the end of a retraining. It is safe for concurrent use.
func (m *Metrics) Retrained(r Retraining) {
	m.retrain.total.WithLabelValues(r.Outcome).Inc()
	m.retrain.seconds.Set(r.Took.Seconds())
	if r.Compared {
		m.retrain.recall.WithLabelValues("old").Set(r.RecallOld)
		m.retrain.recall.WithLabelValues("new").Set(r.RecallNew)
	}
}
