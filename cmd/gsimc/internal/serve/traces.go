package serve

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/gsimc/gsimc/server"
)

const (
	// traceGrace is the time for the last traces to be sent, while the store is being closed.
	traceGrace = 500 * time.Millisecond
	// traceTrouble is the time in which failures to send traces share a line of the log.
	traceTrouble = time.Minute
)

// traces send spans to a collector. Their settings are the environment variables that OpenTelemetry
// defines for every program: a flag would be a second name for what has one. A nil one sends none.
//
// Spans wait in a queue of bounded length and are dropped when it is full, so that a collector that
// does not answer neither slows nor fails calls.
type traces struct{ provider *sdktrace.TracerProvider }

// wantsTraces reports whether the environment names a collector.
func wantsTraces(getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") ||
		strings.EqualFold(getenv("OTEL_TRACES_EXPORTER"), "none") {
		return false
	}
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// openTraces returns nil if no traces are wanted. It connects to nobody yet.
func openTraces(ctx context.Context, version string, log *slog.Logger) (*traces, error) {
	if !wantsTraces(os.Getenv) {
		return nil, nil
	}
	otel.SetErrorHandler(&traceErrors{log: log})
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
	for _, name := range []string{
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL",
	} {
		if protocol := os.Getenv(name); protocol != "" && protocol != "grpc" {
			log.Warn("traces are sent by gRPC: another protocol is not known",
				slog.String(name, protocol))
		}
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "gsimc"),
			attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithFromEnv()) // last: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES hold
	if err != nil {
		return nil, err
	}
	return &traces{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(about))}, nil
}

// end sends what is left, until the process should end at the latest.
func (t *traces) end(s *server.Server) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), traceGrace)
	defer cancel()
	if s != nil {
		if deadline := s.Deadline(); !deadline.IsZero() {
			ctx, cancel = context.WithDeadline(ctx, deadline)
			defer cancel()
		}
	}
	_ = t.provider.Shutdown(ctx) // what could not be sent is lost; traceErrors has told why
}

// traceErrors logs the errors of sending traces.
type traceErrors struct {
	log *slog.Logger

	mu     sync.Mutex
	last   time.Time
	untold int
}

// Handle implements [otel.ErrorHandler].
func (e *traceErrors) Handle(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.last.IsZero() && time.Since(e.last) < traceTrouble {
		e.untold++
		return
	}
	e.log.Warn("traces are lost: see OTEL_EXPORTER_OTLP_ENDPOINT",
		slog.String("error", err.Error()), slog.Int("suppressed", e.untold))
	e.last, e.untold = time.Now(), 0
}
