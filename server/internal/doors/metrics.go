package doors

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics are the series of the doors.
type Metrics struct {
	refused, reloads        *prometheus.CounterVec
	unauthenticated, denied prometheus.Counter
	notAfter                prometheus.Gauge
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{
		refused: metric.Counters("gsimc_calls_refused_total",
			"Calls without the token or the role that their method needs.", "reason"),
		reloads: metric.Counters("gsimc_door_reloads_total",
			"Changed files of tokens or certificates, by whether they were taken.",
			"files", "result"),
		notAfter: metric.Gauge("gsimc_tls_not_after_timestamp_seconds",
			"When the certificate of the server ends; 0 without TLS."),
	}
	m.unauthenticated = m.refused.WithLabelValues("unauthenticated")
	m.denied = m.refused.WithLabelValues("permission_denied")
	for _, files := range []string{"tokens", "certificates"} {
		m.reloads.WithLabelValues(files, "success")
		m.reloads.WithLabelValues(files, "failure")
	}
	return m
}

// Collectors are what a registry needs.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.refused, m.reloads, m.notAfter}
}

func (m *Metrics) reloaded(files string, ok bool) {
	result := "failure"
	if ok {
		result = "success"
	}
	m.reloads.WithLabelValues(files, result).Inc()
}
