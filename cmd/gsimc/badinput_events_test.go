package main

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// knownEvent is the one event that the server takes.
func knownEvent() *pb.Event {
	return &pb.Event{EventId: "e1", UserId: "known", ItemId: "no-such-item",
		EventTime: timestamppb.New(time.Unix(1e9, 0)), Value: proto.Float64(2)}
}

// badEvent is a fault of an event.
type badEvent struct {
	input, field string
	change       func(*pb.Event)
}

// badEvents breaks each rule of an event once.
func badEvents() []badEvent {
	at := func(t *timestamppb.Timestamp) func(*pb.Event) {
		return func(e *pb.Event) { e.EventTime = t }
	}
	kind := func(s string) func(*pb.Event) { return func(e *pb.Event) { e.EventType = s } }
	value := func(x float64) func(*pb.Event) { return func(e *pb.Event) { e.Value = &x } }
	long := strings.Repeat("x", 257)
	return []badEvent{
		{"event_id of 65 bytes", "event_id", func(e *pb.Event) { e.EventId = long[:65] }},
		{"user_id empty", "user_id", func(e *pb.Event) { e.UserId = "" }},
		{"user_id of 257 bytes", "user_id", func(e *pb.Event) { e.UserId = long }},
		{"item_id empty", "item_id", func(e *pb.Event) { e.ItemId = "" }},
		{"item_id of 257 bytes", "item_id", func(e *pb.Event) { e.ItemId = long }},
		{"recommendation_id of 257 bytes", "recommendation_id",
			func(e *pb.Event) { e.RecommendationId = long }},
		{"event_type in capitals", "event_type", kind("Like")},
		{"event_type with a blank", "event_type", kind("add to cart")},
		{"event_type not ASCII", "event_type", kind("größe")},
		{"event_type of 65 bytes", "event_type", kind(long[:65])},
		{"event_time before 1970", "event_time", at(&timestamppb.Timestamp{Seconds: -1})},
		{"event_time 25 hours ahead", "event_time",
			at(timestamppb.New(time.Now().Add(25 * time.Hour)))},
		{"event_time after 9999", "event_time", at(&timestamppb.Timestamp{Seconds: 253402300800})},
		{"event_time with too many nanoseconds", "event_time",
			at(&timestamppb.Timestamp{Nanos: 1e9})},
		{"value NaN", "value", value(math.NaN())},
		{"value +Inf", "value", value(math.Inf(1))},
		{"value -Inf", "value", value(math.Inf(-1))},
		{"value 1001", "value", value(1001)},
		{"value -1001", "value", value(-1001)},
	}
}

// inHistory tells whether history entries have the field too.
func (b badEvent) inHistory() bool {
	return b.field != "event_id" && b.field != "user_id" && b.field != "recommendation_id"
}

// entry is a history entry with the fault.
func (b badEvent) entry() *pb.HistoryEntry {
	e := &pb.Event{ItemId: "1"}
	b.change(e)
	return &pb.HistoryEntry{ItemId: e.GetItemId(), EventType: e.GetEventType(),
		EventTime: e.GetEventTime(), Value: e.Value}
}

// conflicts use the event id of knownEvent for another event.
func conflicts() []badEvent {
	return []badEvent{
		{"event_id of another item", "", func(e *pb.Event) { e.ItemId = "other" }},
		{"event_id of another type", "", func(e *pb.Event) { e.EventType = "view" }},
		{"event_id of another time", "", func(e *pb.Event) { e.EventTime.Seconds++ }},
		{"event_id of another value", "", func(e *pb.Event) { e.Value = nil }},
	}
}

// eventCalls are the three ways of sending an event.
var eventCalls = []struct {
	name, prefix string // prefix of the fields' names
	each         bool
	send         func(context.Context, grpc.ClientConnInterface, *pb.Event) refusal
}{
	{"Observe", "event.", false, func(ctx context.Context, conn grpc.ClientConnInterface,
		e *pb.Event) refusal {
		_, err := pb.NewEventServiceClient(conn).Observe(ctx, &pb.ObserveRequest{Event: e})
		return refusalOf(err)
	}},
	{"BatchObserve", "", true, func(ctx context.Context, conn grpc.ClientConnInterface,
		e *pb.Event) refusal {
		got, err := pb.NewEventServiceClient(conn).BatchObserve(ctx,
			&pb.BatchObserveRequest{Events: []*pb.Event{knownEvent(), e}})
		if err != nil || len(got.GetResults()) != 2 {
			return refusalOf(err)
		}
		return refusalOfEvent(got.GetResults()[1])
	}},
	{"StreamObserve", "", true, func(ctx context.Context, conn grpc.ClientConnInterface,
		e *pb.Event) refusal {
		return streamed(ctx, conn, &pb.StreamObserveRequest{Sequence: 1, Event: knownEvent()},
			&pb.StreamObserveRequest{Sequence: 2, Event: e})
	}},
}

// streamed sends messages over one stream and returns the first refusal: of an event, or else of
// the stream.
func streamed(
	ctx context.Context, conn grpc.ClientConnInterface, messages ...*pb.StreamObserveRequest,
) refusal {
	stream, err := pb.NewEventServiceClient(conn).StreamObserve(ctx)
	if err != nil {
		return refusalOf(err)
	}
	for _, m := range messages {
		if stream.Send(m) != nil {
			break // Recv tells why
		}
	}
	_ = stream.CloseSend()
	first := refusal{message: "the stream ended with OK"}
	for {
		ack, err := stream.Recv()
		if errors.Is(err, io.EOF) || (err != nil && first.code != codes.OK) {
			return first
		}
		if err != nil {
			return refusalOf(err)
		}
		for _, x := range ack.GetExceptions() {
			if got := refusalOfEvent(x.GetResult()); got.code != codes.OK &&
				first.code == codes.OK {
				first = got
			}
		}
	}
}

// badEventRequests sends each bad event in each of the ways.
func badEventRequests() []badRequest {
	var cases []badRequest
	for _, way := range eventCalls {
		for _, b := range slices.Concat(badEvents(), conflicts()) {
			e := &pb.Event{UserId: "refused", ItemId: "no-such-item"}
			c := badRequest{input: way.name + ": " + b.input, code: codes.InvalidArgument,
				reason: "INVALID_FIELD", field: way.prefix + b.field, each: way.each}
			if b.field == "" {
				e = knownEvent()
				c.code, c.reason, c.field = codes.AlreadyExists, "EVENT_ID_CONFLICT", ""
			}
			b.change(e)
			c.call = func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				return way.send(ctx, conn, e)
			}
			cases = append(cases, c)
		}
	}
	batch := func(n int) func(context.Context, grpc.ClientConnInterface) refusal {
		return func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
			events := slices.Repeat([]*pb.Event{{UserId: "refused", ItemId: "no-such-item"}}, n)
			_, err := pb.NewEventServiceClient(conn).BatchObserve(ctx,
				&pb.BatchObserveRequest{Events: events})
			return refusalOf(err)
		}
	}
	return append(cases, invalid("BatchObserve: no events", "events", batch(0)),
		invalid("BatchObserve: 1001 events", "events", batch(1001)),
		invalid("Observe: no event", "event",
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				return eventCalls[0].send(ctx, conn, nil)
			}))
}

// badStreams breaks the order of a stream.
func badStreams() []badRequest {
	var cases []badRequest
	add := func(input string, sequences ...uint64) {
		c := invalid("StreamObserve: "+input, "sequence",
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				var messages []*pb.StreamObserveRequest
				for i, s := range sequences {
					m := &pb.StreamObserveRequest{Sequence: s, Event: knownEvent()}
					if i == len(sequences)-1 {
						m.Event = &pb.Event{UserId: "refused", ItemId: "no-such-item"}
					}
					messages = append(messages, m)
				}
				return streamed(ctx, conn, messages...)
			})
		c.reason = "SEQUENCE_OUT_OF_ORDER"
		cases = append(cases, c)
	}
	add("first sequence 0", 0)
	add("first sequence 2", 2)
	add("sequence skips one", 1, 3)
	add("sequence repeated", 1, 2, 2)
	return append(cases, badRequest{input: "StreamObserve: no event", code: codes.InvalidArgument,
		reason: "INVALID_FIELD", field: "event", each: true,
		call: func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
			return streamed(ctx, conn, &pb.StreamObserveRequest{Sequence: 1})
		}})
}

// badTransport is refused by the gRPC library, before a handler sees it.
func badTransport() []badRequest {
	huge := &pb.Event{UserId: "refused", ItemId: strings.Repeat("x", 5<<20)}
	var cases []badRequest
	for _, way := range eventCalls {
		cases = append(cases, badRequest{input: way.name + ": message over 4 MiB",
			code: codes.ResourceExhausted, bare: true,
			call: func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				return way.send(ctx, conn, huge)
			}})
	}
	return cases
}

// badSeenPolicies breaks each rule of a SeenPolicy once.
func badSeenPolicies() []struct {
	input, field string
	policy       *pb.SeenPolicy
} {
	const types = pb.SeenPolicy_MODE_EXCLUDE_TYPES
	return []struct {
		input, field string
		policy       *pb.SeenPolicy
	}{
		{"seen mode 9", "seen.mode", &pb.SeenPolicy{Mode: 9}},
		{"seen mode -1", "seen.mode", &pb.SeenPolicy{Mode: -1}},
		{"seen without types", "seen.event_types", &pb.SeenPolicy{Mode: types}},
		{"seen with 51 types", "seen.event_types",
			&pb.SeenPolicy{Mode: types, EventTypes: slices.Repeat([]string{"like"}, 51)}},
		{"seen with types in another mode", "seen.event_types",
			&pb.SeenPolicy{EventTypes: []string{"like"}}},
		{"seen with a bad type", "seen.event_types[1]",
			&pb.SeenPolicy{Mode: types, EventTypes: []string{"like", "Like"}}},
		{"seen with an empty type", "seen.event_types[0]",
			&pb.SeenPolicy{Mode: types, EventTypes: []string{""}}},
		{"reappear_after -1s", "seen.reappear_after",
			&pb.SeenPolicy{ReappearAfter: durationpb.New(-time.Second)}},
		{"reappear_after 0", "seen.reappear_after",
			&pb.SeenPolicy{ReappearAfter: durationpb.New(0)}},
		{"reappear_after out of range", "seen.reappear_after",
			&pb.SeenPolicy{ReappearAfter: &durationpb.Duration{Seconds: math.MaxInt64}}},
		{"reappear_after with MODE_INCLUDE", "seen.reappear_after",
			&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE,
				ReappearAfter: durationpb.New(time.Second)}},
	}
}
