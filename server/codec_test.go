package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
	"github.com/gsimc/gsimc/server/internal/ingest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/storetest"
)

func malformedField(field string) problem {
	return problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD", Fields: []string{field}}
}

func TestMalformedRequests(t *testing.T) {
	ts := start(t, setup{})
	conn := nettest.BreakingConn{ClientConnInterface: ts.conn}
	observe := func(e *pb.Event) error {
		_, err := pb.NewEventServiceClient(conn).Observe(ctx(t), &pb.ObserveRequest{Event: e})
		return err
	}
	for _, tt := range []struct {
		name, field string
		call        func() error
	}{
		{"string", "event.item_id",
			func() error { return observe(&pb.Event{UserId: "ann", ItemId: nettest.NotUTF8}) }},
		{"first of two", "event.user_id",
			func() error { return observe(&pb.Event{UserId: nettest.NotUTF8, ItemId: nettest.NotUTF8}) }},
		{"truncated", "gsimc.v1.ObserveRequest",
			func() error { return observe(&pb.Event{UserId: "ann", ItemId: nettest.CutHere}) }},
		{"in a list of messages", "events[2].event_id", func() error {
			_, err := pb.NewEventServiceClient(conn).BatchObserve(ctx(t),
				&pb.BatchObserveRequest{Events: []*pb.Event{newEvent("ann", 1), nil,
					withID(nettest.NotUTF8, "ann", 1)}})
			return err
		}},
		{"in a list of strings", "filter.deny_item_ids[1]", func() error {
			_, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx(t),
				&pb.RecommendRequest{Filter: &pb.ItemFilter{DenyItemIds: []string{"a", nettest.NotUTF8}}})
			return err
		}},
		{"health", "service", func() error {
			_, err := healthpb.NewHealthClient(conn).Check(ctx(t),
				&healthpb.HealthCheckRequest{Service: nettest.NotUTF8})
			return err
		}},
		{"health, streaming", "service", func() error {
			watch, err := healthpb.NewHealthClient(conn).Watch(ctx(t),
				&healthpb.HealthCheckRequest{Service: nettest.NotUTF8})
			if err == nil {
				_, err = watch.Recv()
			}
			return err
		}},
		{"reflection", "host", func() error {
			stream, err := grpc_reflection_v1.NewServerReflectionClient(
				nettest.BreakingConn{ClientConnInterface: ts.adminConn}).ServerReflectionInfo(ctx(t))
			if err != nil {
				return err
			}
			if err := stream.Send(
				&grpc_reflection_v1.ServerReflectionRequest{Host: nettest.NotUTF8}); err != nil {
				return err
			}
			_, err = stream.Recv()
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			same(t, malformedField(tt.field), problemOf(t, tt.call()), "status")
		})
	}
	stored := check.Get(storetest.Revision(t.Context(), ts.store, "ann"))(t)
	same(t, uint64(0), stored, "events stored")
	check.Lacks(t, ts.logs.String(), `"level":"ERROR"`, "log of what clients did wrong")
}

// What came before the malformed message is settled and acknowledged, though it is read while the
// store is still at work.
func TestMalformedStream(t *testing.T) {
	slow := &hookedStore{Store: memory.New()}
	slow.AppendFunc = func(c context.Context, r []store.Record) ([]store.Result, error) {
		time.Sleep(20 * time.Millisecond)
		return slow.Store.Append(c, r)
	}
	ts := start(t, setup{store: slow})
	for text, field := range map[string]string{nettest.NotUTF8: "event.item_id",
		nettest.CutHere: "gsimc.v1.StreamObserveRequest"} {
		t.Run(field, func(t *testing.T) {
			const good = ingest.StreamWindow + 10
			breaking := pb.NewEventServiceClient(nettest.BreakingConn{ClientConnInterface: ts.conn})
			client := check.Get(breaking.StreamObserve(ctx(t)))(t)
			s := clientStream{client, nil}
			for i := range good {
				s.send(t, uint64(i+1), newEvent(field, 1))
			}
			s.send(t, good+1, &pb.Event{UserId: field, ItemId: text})
			got := s.rest(t)
			same(t, uint64(good), got.acked, "acked")
			same(t, 0, len(got.exceptions), "exceptions")
			same(t, malformedField(field), problemOf(t, got.err), "end of the stream")
			stored := check.Get(storetest.Revision(t.Context(), ts.store, field))(t)
			same(t, uint64(good), stored, "events stored")
		})
	}
}

// The unknown fields of a newer client are no fault, not even with the number of the mark.
func TestUnknownFieldsAreTaken(t *testing.T) {
	ts := start(t, setup{})
	req := &pb.ObserveRequest{Event: newEvent("ann", 1)}
	req.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil,
		protowire.MaxValidNumber, protowire.BytesType), "new"))
	check.Pass(t, check.Err(ts.events.Observe(ctx(t), req)), "Observe")
}

// Unknown methods have a reason too, but make no metric series: clients could make up any number of
// names.
func TestUnknownMethod(t *testing.T) {
	ts := start(t, setup{})
	for _, method := range []string{"/gsimc.v1.EventService/NoSuchMethod",
		"/no.such.Service/NoSuchMethod"} {
		err := ts.conn.Invoke(ctx(t), method, &pb.ObserveRequest{}, &pb.ObserveResponse{})
		same(t, problem{Code: codes.Unimplemented, Reason: "UNKNOWN_METHOD"}, problemOf(t, err),
			"%s", method)
	}
	if _, page := ts.get(t, "/metrics"); strings.Contains(page, "NoSuchMethod") {
		t.Error("the name of an unknown method is in the metrics")
	}
}
