package main

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// collector receives traces as OTLP over gRPC.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer

	mu       sync.Mutex
	received []*tracepb.ResourceSpans
}

func (c *collector) Export(
	_ context.Context, req *collectorpb.ExportTraceServiceRequest,
) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = append(c.received, req.GetResourceSpans()...)
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// spans are the spans so far of a name.
func (c *collector) spans(name string) (found []*tracepb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.received {
		for _, s := range r.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				if span.GetName() == name {
					found = append(found, span)
				}
			}
		}
	}
	return found
}

// TestTracesReachACollector: a server sends its spans to the collector that its environment names,
// those of the last moment at the end, and none names a user.
func TestTracesReachACollector(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	c := &collector{}
	address, _ := nettest.Serve(t, func(g *grpc.Server) {
		collectorpb.RegisterTraceServiceServer(g, c)
	})
	server := startServeIn(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address,
		"OTEL_SERVICE_NAME=recommender-of-the-test"}, model, t.TempDir())
	const user, trace = "ann-of-the-test", "0af7651916cd43dd8448eb211c80319c"
	execute(t, "observe", "--server", server.GRPC, "--user", user, "--item", "i1")
	with := metadata.AppendToOutgoingContext(t.Context(),
		"traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	req := &pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: user}}
	check.Get(pb.NewRecommenderServiceClient(server.client(t)).Recommend(with, req))(t)
	server.mustStop(t) // long before the next batch is due
	lists := c.spans("gsimc.v1.RecommenderService/Recommend")
	if len(lists) != 1 || !strings.Contains(protojson.Format(lists[0]), `"topn"`) {
		t.Fatalf("the spans of Recommend are %v, want one with its stages", lists)
	}
	for _, name := range []string{"model.load", "gsimc.v1.EventService/Observe", "store.append",
		"store.since"} {
		if len(c.spans(name)) == 0 {
			t.Errorf("no span %s", name)
		}
	}
	if !slices.ContainsFunc(c.received, func(r *tracepb.ResourceSpans) bool {
		return strings.Contains(protojson.Format(r.GetResource()), "recommender-of-the-test")
	}) {
		t.Error("the spans are of a service of another name")
	}
	for _, r := range c.received {
		if text := protojson.Format(r); strings.Contains(text, user) {
			t.Errorf("a span names a user: %s", text)
		}
	}
}

// TestDeadCollectors: with a collector that takes connections and never answers, and with none at
// all, calls are answered and the server stops in time. A batch is due every millisecond, and the
// queue has room for one span.
func TestDeadCollectors(t *testing.T) {
	soak.Processes(t, "the real binary")
	t.Parallel()
	hanging := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = hanging.Close() })
	_, model := smallModel(t)
	for name, settings := range map[string][]string{
		"hangs": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + hanging.Addr().String()},
		"is gone": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + nettest.Free(t),
			"OTEL_EXPORTER_OTLP_TIMEOUT=100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServeIn(t, append(settings, "OTEL_BSP_SCHEDULE_DELAY=1",
				"OTEL_BSP_MAX_QUEUE_SIZE=1"), model, t.TempDir())
			recommender := pb.NewRecommenderServiceClient(server.client(t))
			for range 200 {
				req := &pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: "u"}}
				check.Get(recommender.Recommend(t.Context(), req))(t)
			}
			if name == "is gone" {
				server.awaitLog(t, "traces are lost", 1)
			}
			begun := time.Now()
			server.mustStop(t)
			// the time that a single export may take
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("the server took %s to stop", took)
			}
		})
	}
}
