package calls

import (
	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// Metrics are the series of calls.
type Metrics struct {
	metric.Set
	grpc   *grpcprom.ServerMetrics
	panics prometheus.Counter
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	latency := metric.LatencyOpts("", "") // the library names it
	m := &Metrics{}
	m.grpc = metric.Add(&m.Set, grpcprom.NewServerMetrics(
		grpcprom.WithServerHandlingTimeHistogram(grpcprom.WithHistogramOpts(&latency))))
	m.panics = m.Counter("gsimc_panics_total", "Panics in handlers, recovered.")
	return m
}

// Initialize makes the series of all methods of a server, with 0.
func (m *Metrics) Initialize(g *grpc.Server) { m.grpc.InitializeMetrics(g) }
