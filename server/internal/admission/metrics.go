package admission

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the series of admission.
type Metrics struct {
	shed  *prometheus.CounterVec
	count [numClasses]map[Reason]prometheus.Counter

	closed prometheus.Counter // connections
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{
		shed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gsimc_calls_shed_total",
			Help: "Calls that were refused for lack of room, by class and reason.",
		}, []string{"class", "reason"}),
		closed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gsimc_connections_evicted_total",
			Help: "Silent connections that were closed to make room for new ones.",
		}),
	}
	for c := range numClasses {
		m.count[c] = map[Reason]prometheus.Counter{}
		for _, r := range reasons {
			m.count[c][r] = m.shed.WithLabelValues(c.String(), string(r))
		}
	}
	return m
}

// Collectors are what a registry needs.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.shed, m.closed}
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

// Describe implements [prometheus.Collector].
func (g *Gate) Describe(ch chan<- *prometheus.Desc) {
	ch <- underWayDesc
	ch <- limitDesc
}

// Collect implements [prometheus.Collector].
func (g *Gate) Collect(ch chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.classes {
		c, name := &g.classes[i], Class(i).String()
		gauge := func(d *prometheus.Desc, v int, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v),
				append([]string{name}, labels...)...)
		}
		gauge(underWayDesc, c.receiving, "receiving")
		gauge(underWayDesc, c.queue.n, "queued")
		gauge(underWayDesc, c.running, "running")
		if Class(i) != Probe { // it has none
			gauge(limitDesc, c.limit.get())
		}
	}
}
