// Package tracing tells OpenTelemetry what the server does for a call.
//
// A server without a provider of tracers installs nothing of this package, so that its calls cost
// what they cost without it. The stages of a call are events of its span: a span of its own would
// cost more than a short stage takes. No attribute holds an id of a user, an item or an event.
package tracing

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/gsimc/gsimc/store"
)

// scope is the name of the instrumentation.
const scope = "github.com/gsimc/gsimc/server"

// Handler makes a span for each call of the methods that traced reports. The parent is that of the
// client, if its metadata names one.
func Handler(p trace.TracerProvider, traced func(method string) bool) stats.Handler {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(p),
		otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()), // Prometheus has the metrics
		otelgrpc.WithFilter(func(i *stats.RPCTagInfo) bool { return traced(i.FullMethodName) }))
}

// Do runs work in a span of this name, which has the span of ctx as its parent if there is one.
func Do(ctx context.Context, p trace.TracerProvider, name string,
	work func(context.Context) error,
) error {
	ctx, span := p.Tracer(scope).Start(ctx, name)
	defer span.End()
	err := work(ctx)
	if err != nil {
		span.SetStatus(codes.Error, "") // the text of an error is for the log
	}
	return err
}

// Stage notes the end of a stage of the call of ctx.
func Stage(ctx context.Context, name string) { trace.SpanFromContext(ctx).AddEvent(name) }

// ID is the id of the trace of ctx; empty if there is none.
func ID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.HasTraceID() {
		return c.TraceID().String()
	}
	return ""
}

// Exemplar are the labels of the exemplar of a call: the id of its trace, if that is recorded.
func Exemplar(ctx context.Context) prometheus.Labels {
	if c := trace.SpanContextFromContext(ctx); c.IsSampled() {
		return prometheus.Labels{"trace_id": c.TraceID().String()}
	}
	return nil
}

// Store makes spans of the reads and writes of a store that are part of a recorded call.
type Store struct {
	store.Store

	Provider trace.TracerProvider
}

// Append implements [store.Store].
func (s Store) Append(ctx context.Context, records []store.Record) (out []store.Result, err error) {
	err = s.do(ctx, "store.append", func(ctx context.Context) error {
		out, err = s.Store.Append(ctx, records)
		return err
	})
	return out, err
}

// Since implements [store.Store].
func (s Store) Since(ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (head store.Version, same bool, err error) {
	err = s.do(ctx, "store.since", func(ctx context.Context) error {
		head, same, err = s.Store.Since(ctx, user, known, fn)
		return err
	})
	return head, same, err
}

func (s Store) do(ctx context.Context, name string, work func(context.Context) error) error {
	if !trace.SpanFromContext(ctx).IsRecording() { // work in the background has no span
		return work(ctx)
	}
	return Do(ctx, s.Provider, name, work)
}
