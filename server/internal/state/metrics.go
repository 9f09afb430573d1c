package state

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics count the reads of user states.
type Metrics struct {
	metric.Set
	hit, advance, load, rebuild prometheus.Counter
}

// NewMetrics makes the metrics of a [Cache].
func NewMetrics() *Metrics {
	m := &Metrics{}
	requests := m.Counters("gsimc_user_state_requests_total",
		"Reads of user states: hit (as cached), advance (cached, events folded in), load (not "+
			"cached, replayed), "+
			"rebuild (cached, but by another model, of another life of the user or damaged by a "+
			"panic, so replayed).", "result")
	m.hit, m.advance = requests.WithLabelValues("hit"), requests.WithLabelValues("advance")
	m.load, m.rebuild = requests.WithLabelValues("load"), requests.WithLabelValues("rebuild")
	return m
}
