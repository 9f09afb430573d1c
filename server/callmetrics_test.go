package server

import (
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// TestCallMetrics counts calls that fail and streams, with their messages.
func TestCallMetrics(t *testing.T) {
	ts := start(t, setup{})
	if _, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{}); err == nil {
		t.Fatal("an empty request was accepted")
	}
	stream, err := ts.events.StreamObserve(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.StreamObserveRequest{Sequence: 1, Event: event("ann", 1)}); err != nil {
		t.Fatal(err)
	}
	for {
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			break
		}
	}
	for series, want := range map[string]float64{
		`grpc_server_handled_total{grpc_code="InvalidArgument",grpc_method="Observe",grpc_service="gsimc.v1.EventService",grpc_type="unary"}`:         1,
		`grpc_server_msg_received_total{grpc_method="Observe",grpc_service="gsimc.v1.EventService",grpc_type="unary"}`:                                1,
		`grpc_server_msg_sent_total{grpc_method="Observe",grpc_service="gsimc.v1.EventService",grpc_type="unary"}`:                                    0,
		`grpc_server_started_total{grpc_method="StreamObserve",grpc_service="gsimc.v1.EventService",grpc_type="bidi_stream"}`:                         1,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="StreamObserve",grpc_service="gsimc.v1.EventService",grpc_type="bidi_stream"}`:          1,
		`grpc_server_msg_received_total{grpc_method="StreamObserve",grpc_service="gsimc.v1.EventService",grpc_type="bidi_stream"}`:                    1,
		`grpc_server_handling_seconds_count{grpc_method="StreamObserve",grpc_service="gsimc.v1.EventService",grpc_type="bidi_stream"}`:                1,
		`grpc_server_started_total{grpc_method="Watch",grpc_service="grpc.health.v1.Health",grpc_type="server_stream"}`:                               0,
		`grpc_server_handled_total{grpc_code="Unauthenticated",grpc_method="Recommend",grpc_service="gsimc.v1.RecommenderService",grpc_type="unary"}`: 0,
	} {
		if got := value1(t, ts, series); got != want {
			t.Errorf("%s = %v, want %v", series, got, want)
		}
	}
}
