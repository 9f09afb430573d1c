package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// callMetrics count the calls of each method, under the names and labels that are customary for gRPC servers.
type callMetrics struct {
	started, handled, received, sent *prometheus.CounterVec
	seconds                          *prometheus.HistogramVec

	methods map[string]*methodMetrics // by full name
}

// methodMetrics are the series of a method, looked up once: that would cost a call more than the counting.
type methodMetrics struct {
	started, received, sent prometheus.Counter
	handled                 [codes.Unauthenticated + 1]prometheus.Counter // by code
	seconds                 prometheus.Observer
}

func newCallMetrics() *callMetrics {
	labels := []string{"grpc_type", "grpc_service", "grpc_method"}
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append(more, labels...))
	}
	return &callMetrics{
		started: counter("grpc_server_started_total", "Total number of RPCs started on the server."),
		handled: counter("grpc_server_handled_total",
			"Total number of RPCs completed on the server, regardless of success or failure.", "grpc_code"),
		received: counter("grpc_server_msg_received_total", "Total number of RPC stream messages received on the server."),
		sent:     counter("grpc_server_msg_sent_total", "Total number of gRPC stream messages sent by the server."),
		seconds: prometheus.NewHistogramVec(histogramOpts("grpc_server_handling_seconds",
			"Histogram of response latency (seconds) of gRPC that had been application-level handled by the server."), labels),
		methods: map[string]*methodMetrics{},
	}
}

func (m *callMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.started, m.handled, m.received, m.sent, m.seconds}
}

// initialize makes the series of all methods of the server. No call may have been received yet.
func (m *callMetrics) initialize(server *grpc.Server) {
	for service, info := range server.GetServiceInfo() {
		for _, method := range info.Methods {
			labels := []string{callType(method), service, method.Name}
			series := &methodMetrics{
				started: m.started.WithLabelValues(labels...), received: m.received.WithLabelValues(labels...),
				sent: m.sent.WithLabelValues(labels...), seconds: m.seconds.WithLabelValues(labels...),
			}
			for code := range series.handled {
				name := codes.Code(code).String() //nolint:gosec // a code of the list
				series.handled[code] = m.handled.WithLabelValues(append([]string{name}, labels...)...)
			}
			m.methods["/"+service+"/"+method.Name] = series
		}
	}
}

// callType is the label value for the kind of a method.
func callType(m grpc.MethodInfo) string {
	switch {
	case m.IsClientStream && m.IsServerStream:
		return "bidi_stream"
	case m.IsClientStream:
		return "client_stream"
	case m.IsServerStream:
		return "server_stream"
	}
	return "unary"
}

// finished counts the end of a call.
func (m *methodMetrics) finished(start time.Time, err error) {
	code := status.Code(err)
	if int(code) >= len(m.handled) {
		code = codes.Unknown
	}
	m.handled[code].Inc()
	m.seconds.Observe(time.Since(start).Seconds())
}

// countStream counts a stream and its messages. Calls of unknown methods are not counted: each name that a client makes up
// would be a series.
func (m *callMetrics) countStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	series := m.methods[info.FullMethod]
	if series == nil {
		return next(srv, stream)
	}
	start := time.Now()
	series.started.Inc()
	err := next(srv, countedStream{stream, series})
	series.finished(start, err)
	return err
}

// countedStream counts the messages of a stream.
type countedStream struct {
	grpc.ServerStream
	series *methodMetrics
}

// RecvMsg implements grpc.ServerStream.
func (c countedStream) RecvMsg(m any) error {
	err := c.ServerStream.RecvMsg(m)
	if err == nil {
		c.series.received.Inc()
	}
	return err
}

// SendMsg implements grpc.ServerStream.
func (c countedStream) SendMsg(m any) error {
	err := c.ServerStream.SendMsg(m)
	if err == nil {
		c.series.sent.Inc()
	}
	return err
}
