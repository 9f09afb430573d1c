package doors

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics are the series of the doors.
type Metrics struct {
	metric.Set
	tokens, certificates    func(good bool) // count changed files
	unauthenticated, denied prometheus.Counter
	notAfter                prometheus.Gauge
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{}
	refused := m.Counters("gsimc_calls_refused_total",
		"Calls without the token or the role that their method needs.", "reason")
	m.unauthenticated = refused.WithLabelValues("unauthenticated")
	m.denied = refused.WithLabelValues("permission_denied")
	reloads := m.Counters("gsimc_door_reloads_total",
		"Changed files of tokens or certificates, by whether they were taken.",
		"files", "result")
	of := func(files string) func(good bool) {
		return metric.Outcomes(reloads.MustCurryWith(prometheus.Labels{"files": files}))
	}
	m.tokens, m.certificates = of("tokens"), of("certificates")
	m.notAfter = m.Gauge("gsimc_tls_not_after_timestamp_seconds",
		"When the certificate of the server ends; 0 without TLS.")
	return m
}
