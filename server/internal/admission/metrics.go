package admission

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics are the series of admission.
type Metrics struct {
	metric.Set
	count [numClasses]map[Reason]prometheus.Counter

	closed prometheus.Counter // connections without calls for long
	unread prometheus.Counter // connections with unwritten answers
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{}
	shed := m.Counters("gsimc_calls_shed_total",
		"Calls that were refused for lack of room, by class and reason.", "class", "reason")
	m.closed = m.Counter("gsimc_connections_evicted_total",
		"Silent connections that were closed to make room for new ones.")
	m.unread = m.Counter("gsimc_connections_unread_total",
		"Connections that were closed since their client did not read its answers.")
	for c := range numClasses {
		m.count[c] = map[Reason]prometheus.Counter{}
		for _, r := range reasons {
			m.count[c][r] = shed.WithLabelValues(c.String(), string(r))
		}
	}
	return m
}

func (m *Metrics) refused(c Class, r Reason) { m.count[c][r].Inc() }

var (
	underWayDesc = prometheus.NewDesc("gsimc_calls_under_way",
		"Calls that are receiving their message, waiting for their turn, or running.",
		[]string{"class", "state"}, nil)
	limitDesc = prometheus.NewDesc("gsimc_calls_limit",
		"Calls of a class that may run at a time; it follows the latency.",
		[]string{"class"}, nil)
)

// Gauges are the gauges of gates, summed up: each is for a listener of its own.
type Gauges []*Gate

// Describe implements [prometheus.Collector].
func (Gauges) Describe(ch chan<- *prometheus.Desc) {
	ch <- underWayDesc
	ch <- limitDesc
}

// Collect implements [prometheus.Collector].
func (gs Gauges) Collect(ch chan<- prometheus.Metric) {
	for c := range numClasses {
		var receiving, queued, running, limit int
		for _, g := range gs {
			if g.serves(c) {
				g.mu.Lock()
				receiving += g.classes[c].receiving
				queued += g.classes[c].queue.n
				running += g.classes[c].running
				limit += g.classes[c].limit.get()
				g.mu.Unlock()
			}
		}
		gauge := func(d *prometheus.Desc, v int, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v),
				append([]string{c.String()}, labels...)...)
		}
		gauge(underWayDesc, receiving, "receiving")
		gauge(underWayDesc, queued, "queued")
		gauge(underWayDesc, running, "running")
		if c != Probe { // it has none
			gauge(limitDesc, limit)
		}
	}
}

// serves reports whether the gate has calls of a class. Calls of unknown methods are Other, and
// those of any method may be a Stranger.
func (g *Gate) serves(c Class) bool {
	if c == Other || c == Stranger {
		return true
	}
	for _, m := range g.cfg.Methods {
		if m.Class == c {
			return true
		}
	}
	return false
}
