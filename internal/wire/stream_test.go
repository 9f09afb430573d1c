package wire

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// plainRequest is a StreamObserveRequest with events of all kinds.
func plainRequest() *pb.StreamObserveRequest {
	return &pb.StreamObserveRequest{Sequence: 300, Events: []*pb.Event{
		{EventId: "e", UserId: "ann", ItemId: "grün", EventType: "view",
			EventTime: &timestamppb.Timestamp{Seconds: 1_700_000_000, Nanos: 5},
			Value:     proto.Float64(-2), RecommendationId: "list"},
		{UserId: "bob", ItemId: "x"},
		{},
		{UserId: "bob", EventTime: &timestamppb.Timestamp{}, Value: proto.Float64(math.Inf(1))},
	}}
}

func encodeRequest(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b := check.Get(proto.Marshal(m))(t)
	return b
}

// TestStreamMessageReuse decodes messages of different lengths, one after the other, into the same
// memory.
func TestStreamMessageReuse(t *testing.T) {
	var m StreamMessage
	single := &pb.StreamObserveRequest{Sequence: 1, Event: &pb.Event{UserId: "u"}}
	for i, req := range []*pb.StreamObserveRequest{plainRequest(), single, {Sequence: 7},
		plainRequest()} {
		if !m.ordinary(string(encodeRequest(t, req))) {
			t.Fatalf("message %d is not taken for an ordinary one", i)
		}
		want := req.GetEvents()
		if len(want) == 0 {
			want = []*pb.Event{req.GetEvent()}
		}
		if diff := cmp.Diff(want, m.Events, protocmp.Transform()); diff != "" ||
			m.Sequence != req.GetSequence() {
			t.Errorf("message %d: sequence %d, events differ (-want +got):\n%s", i, m.Sequence,
				diff)
		}
	}
	data := string(encodeRequest(t, plainRequest()))
	check.Same(t, 0.0, testing.AllocsPerRun(10, func() { m.ordinary(data) }),
		"allocations for a message like one before it")
}

// TestStreamMessageKeepsNothingLarge decodes a good event beside a large bad one: the good one must
// not keep the memory of the message, for thousands of events may wait.
func TestStreamMessageKeepsNothingLarge(t *testing.T) {
	large := &pb.Event{UserId: "u", ItemId: strings.Repeat("i", ordinaryBytes)}
	good := &pb.Event{UserId: "u", ItemId: "i"}
	var m StreamMessage
	if m.ordinary(string(encodeRequest(t,
		&pb.StreamObserveRequest{Sequence: 1, Events: []*pb.Event{good, large}}))) {
		t.Error("a message with a large event is taken for an ordinary one")
	}
	longest := &pb.Event{EventId: strings.Repeat("e", 64), UserId: strings.Repeat("u", 256),
		ItemId:    strings.Repeat("i", 256),
		EventType: strings.Repeat("t", 64),
		EventTime: &timestamppb.Timestamp{Seconds: 253402300799, Nanos: 999999999},
		Value:     proto.Float64(1), RecommendationId: strings.Repeat("r", 256)}
	if !m.ordinary(string(encodeRequest(t,
		&pb.StreamObserveRequest{Sequence: 1, Events: []*pb.Event{longest, good}}))) {
		t.Error("a message with the longest valid event is not taken for an ordinary one")
	}
}

// FuzzStreamMessage compares the decoder with the library's.
func FuzzStreamMessage(f *testing.F) {
	f.Add(encodeRequest(f, plainRequest()))
	f.Add(encodeRequest(f,
		&pb.StreamObserveRequest{Sequence: 1, Event: &pb.Event{UserId: "u", ItemId: "i"}}))
	f.Add(encodeRequest(f, &pb.StreamObserveRequest{Event: &pb.Event{}, Events: []*pb.Event{{}}}))
	// merged by the library
	f.Add([]byte{streamEvent, 2, eventUserID, 0, streamEvent, 2, eventItemID, 0})
	// the last one counts
	f.Add([]byte{streamSequence, 1, streamSequence, 2})
	f.Add([]byte{streamEvent, 3, eventUserID, 1, 0xff}) // not UTF-8
	// in another order
	f.Add([]byte{streamEvent, 6, eventEventTime, 4, timeNanos, 1, timeSeconds, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var want pb.StreamObserveRequest
		err := proto.Unmarshal(data, &want)
		var got StreamMessage
		check.Must(t, got.decode(NewCodec(nil), mem.BufferSlice{mem.SliceBuffer(data)}))
		check.MustSame(t, err != nil, got.Fault != nil,
			"fault %v, of the library %v: refused", got.Fault, err)
		if err != nil {
			return
		}
		events := want.GetEvents()
		if len(events) == 0 {
			events = []*pb.Event{want.GetEvent()}
		}
		for _, e := range append(events, got.Events...) { // what is unknown does not count
			if e != nil {
				e.ProtoReflect().SetUnknown(nil)
				if e.EventTime != nil {
					e.EventTime.ProtoReflect().SetUnknown(nil)
				}
			}
		}
		both := want.GetEvent() != nil && len(want.GetEvents()) > 0
		if diff := cmp.Diff(events, got.Events, protocmp.Transform(),
			cmpopts.EquateNaNs()); diff != "" || got.Sequence != want.GetSequence() ||
			got.Both != both {
			t.Fatalf("sequence %d, both %t, want %d, %t; events differ (-want +got):\n%s",
				got.Sequence, got.Both, want.GetSequence(), both, diff)
		}
	})
}

// BenchmarkDecodeStreamMessage decodes a message of a hundred events.
func BenchmarkDecodeStreamMessage(b *testing.B) {
	req := &pb.StreamObserveRequest{Sequence: 1}
	for range 100 {
		req.Events = append(req.Events,
			&pb.Event{EventId: "0123456789abcdef01", UserId: "user-123456", ItemId: "item-12345",
				EventType: "view", EventTime: &timestamppb.Timestamp{Seconds: 1_700_000_000}})
	}
	data := encodeRequest(b, req)
	b.Run("decoder=own", func(b *testing.B) {
		var m StreamMessage
		b.ReportAllocs()
		for b.Loop() {
			m.ordinary(string(data))
		}
	})
	b.Run("decoder=library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var m pb.StreamObserveRequest
			_ = proto.Unmarshal(data, &m)
		}
	})
}
