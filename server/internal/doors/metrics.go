package doors

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics are the series of the doors.
type Metrics struct {
	metric.Set
	tokens, certificates    func(good bool) // count changed files
	keys                    func(good bool) // counts readings of the keys of issuers
	unauthenticated, denied prometheus.Counter
	overLimit, keysUnread   prometheus.Counter
	notAfter                prometheus.Gauge
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{}
	refused := m.Counters("gsimc_calls_refused_total",
		"Calls that their token does not allow, or that have none.",
		"reason")
	m.unauthenticated = refused.WithLabelValues("unauthenticated")
	m.denied = refused.WithLabelValues("permission_denied")
	m.overLimit = refused.WithLabelValues("rate_limit")
	m.keysUnread = refused.WithLabelValues("issuer_keys")
	reloads := m.Counters("gsimc_door_reloads_total",
		"Changed files of tokens or certificates, by whether they were taken.",
		"files", "result")
	of := func(files string) func(good bool) {
		return metric.Outcomes(reloads.MustCurryWith(prometheus.Labels{"files": files}))
	}
	m.tokens, m.certificates = of("tokens"), of("certificates")
	m.keys = metric.Outcomes(m.Counters("gsimc_issuer_key_reads_total",
		"Readings of the public keys of issuers of signed tokens.", "result"))
	m.notAfter = m.Gauge("gsimc_tls_not_after_timestamp_seconds",
		"When the certificate of the server ends; 0 without TLS.")
	return m
}

// refused counts a call that the error refuses; nil refuses none.
func (m *Metrics) refused(err error) {
	switch err {
	case nil:
	case ErrUnauthenticated, ErrEnded:
		m.unauthenticated.Inc()
	case ErrRateLimit:
		m.overLimit.Inc()
	case ErrKeys:
		m.keysUnread.Inc()
	default:
		m.denied.Inc()
	}
}
