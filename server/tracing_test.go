package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/calls"
)

// A trace that a client began, and its headers: sampled and not.
const (
	clientTrace   = "0af7651916cd43dd8448eb211c80319c"
	clientSpan    = "b7ad6b7169203331"
	sampledTrace  = "00-" + clientTrace + "-" + clientSpan + "-01"
	unwantedTrace = "00-1af7651916cd43dd8448eb211c80319c-" + clientSpan + "-00"
)

// traced makes a server keep the spans that it ends.
func traced(spans *tracetest.InMemoryExporter) func(*Config) {
	return func(c *Config) {
		c.Tracer = trace.NewTracerProvider(trace.WithSyncer(spans),
			trace.WithSampler(trace.ParentBased(trace.AlwaysSample())))
		c.SlowRequest = time.Nanosecond
	}
}

// await waits for a span of this name in the trace of the client.
func await(t *testing.T, spans *tracetest.InMemoryExporter, name string) tracetest.SpanStub {
	t.Helper()
	var found tracetest.SpanStub
	eventually(t, "a span "+name+" is there", func() bool {
		all := spans.GetSpans()
		i := slices.IndexFunc(all, func(s tracetest.SpanStub) bool {
			return s.Name == name && s.SpanContext.TraceID().String() == clientTrace
		})
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// A call continues the trace of its client, by gRPC and by HTTP; its span has the stages, the spans
// of the store are below it, its lines in the log have its id, and nothing in it names a user or an
// item.
func TestCallsAreTraced(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	ts, c := startJSON(t, setup{config: traced(spans)})
	const user = "ann-of-the-test"
	with := metadata.AppendToOutgoingContext(ctx(t), "traceparent", sampledTrace)
	check.Get(ts.events.Observe(with, &pb.ObserveRequest{Event: newEvent(user, 1)}))(t)
	observe, write := await(t, spans, "gsimc.v1.EventService/Observe"), await(t, spans, "store.append")
	same(t, clientSpan, observe.Parent.SpanID().String(), "the parent of Observe")
	if write.Parent.SpanID() != observe.SpanContext.SpanID() {
		t.Error("the write is not a child of Observe")
	}
	spans.Reset()

	send(t, "GET", c.base+"/v1/users/"+user+"/recommendations", "", "Traceparent", sampledTrace)
	list := await(t, spans, "gsimc.v1.RecommenderService/Recommend")
	await(t, spans, "store.since")
	var events []string
	for _, e := range list.Events {
		events = append(events, e.Name)
	}
	check.Same(t, []string{"state", "filter", "topn", "encode"}, events, "the stages")
	for _, s := range append(spans.GetSpans(), observe, write) {
		if text := fmt.Sprintf("%+v", s); strings.Contains(text, user) ||
			strings.Contains(text, item(1)) {
			t.Errorf("a span names a user or an item: %s", text)
		}
	}
	eventually(t, "the log has the trace", func() bool {
		return strings.Count(ts.logs.String(), `"trace_id":"`+clientTrace+`"`) >= 2
	})
}

// A client decides whether its trace is recorded, and probes are none.
func TestTracesThatNobodyWants(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	ts := start(t, setup{config: traced(spans)})
	eventually(t, "the load of the model is traced", func() bool {
		all := spans.GetSpans()
		return len(all) == 1 && all[0].Name == "model.load"
	})
	with := metadata.AppendToOutgoingContext(ctx(t), "traceparent", unwantedTrace)
	check.Get(ts.recommend.Recommend(with, forUser("ann")))(t)
	reply(t, healthpb.NewHealthClient(ts.conn).Check, &healthpb.HealthCheckRequest{})
	ts.shutdown(t) // calls have ended
	if all := spans.GetSpans(); len(all) != 1 {
		t.Errorf("%d spans, want that of the model alone: %v", len(all), all)
	}
}

// A line about a slow call says where its time has gone, and whose it is. Many slow calls share a
// line in each interval.
func TestSlowCallsTellTheirStages(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.SlowRequest = time.Nanosecond }})
	began := time.Now()
	ts.observe(t, newEvent("ann", 1))
	for range 200 {
		ts.ask(t, forUser("ann"))
	}
	most, lines := int(time.Since(began)/calls.FailureInterval)+2, 0 // one of Observe
	want := map[string][]string{
		pb.EventService_Observe_FullMethodName: {"store_ms"},
		pb.RecommenderService_Recommend_FullMethodName: {
			"state_ms", "filter_ms", "topn_ms", "encode_ms"},
	}
	for line := range strings.Lines(ts.logs.String()) {
		var entry struct {
			Level, Msg string

			Method string             `json:"grpc.method"`
			User   string             `json:"user_hash"`
			Took   float64            `json:"duration_ms"`
			Stages map[string]float64 `json:"stages"`
		}
		must(t, json.Unmarshal([]byte(line), &entry))
		if entry.Msg != "slow call" {
			continue
		}
		sum := 0.0
		for _, took := range entry.Stages {
			sum += took
		}
		if lines++; entry.Level != "WARN" || entry.User == "" {
			t.Errorf("a line about slow calls is %s", line)
		}
		if sum > entry.Took {
			t.Errorf("the stages take longer than the call: %s", line)
		}
		for _, stage := range want[entry.Method] {
			if _, there := entry.Stages[stage]; !there {
				t.Errorf("no %s in %s", stage, line)
			}
		}
		delete(want, entry.Method)
	}
	if len(want) > 0 || lines > most {
		t.Errorf("%d lines, want at most %d; none about %v", lines, most, want)
	}
}

func TestNoCallIsSlow(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.SlowRequest = 0 }})
	ts.ask(t, forUser("ann"))
	check.Lacks(t, ts.logs.String(), "slow call", "log without a threshold")
}

// The latencies of recorded calls have the id of the trace on a page in the format of OpenMetrics.
func TestExemplars(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	ts := start(t, setup{config: traced(spans)})
	with := metadata.AppendToOutgoingContext(ctx(t), "traceparent", sampledTrace)
	check.Get(ts.recommend.Recommend(with, forUser("ann")))(t)
	await(t, spans, "gsimc.v1.RecommenderService/Recommend")
	_, page, _ := send(t, "GET", "http://"+ts.ops+"/metrics", "",
		"Accept", "application/openmetrics-text; version=1.0.0")
	for _, series := range []string{
		`grpc_server_handling_seconds_bucket{grpc_method="Recommend"`,
		`gsimc_recommend_stage_seconds_bucket{stage="state"`,
	} {
		found := false
		for line := range strings.Lines(page) {
			found = found || strings.HasPrefix(line, series) &&
				strings.Contains(line, `# {trace_id="`+clientTrace+`"}`)
		}
		if !found {
			t.Errorf("no exemplar of %s", series)
		}
	}
	if _, plain := ts.get(t, "/metrics"); strings.Contains(plain, clientTrace) {
		t.Error("an exemplar in the format that has none")
	}
}
