package loadtest

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// The numbers of the fields that are encoded by hand.
var (
	eventID        = numberOf(&pb.Event{}, "event_id")
	eventUserID    = numberOf(&pb.Event{}, "user_id")
	eventItemID    = numberOf(&pb.Event{}, "item_id")
	observeEvent   = numberOf(&pb.ObserveRequest{}, "event")
	streamEvent    = numberOf(&pb.StreamObserveRequest{}, "event")
	streamEvents   = numberOf(&pb.StreamObserveRequest{}, "events")
	streamSequence = numberOf(&pb.StreamObserveRequest{}, "sequence")
)

func numberOf(m proto.Message, name protoreflect.Name) protowire.Number {
	return m.ProtoReflect().Descriptor().Fields().ByName(name).Number()
}

func appendField(b []byte, n protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), content)
}

// appendEvent appends an Event of these ids to b. The ids must not be empty.
func appendEvent(b, id, user []byte, item string) []byte {
	b = appendField(appendField(b, eventID, id), eventUserID, user)
	return protowire.AppendString(protowire.AppendTag(b, eventItemID, protowire.BytesType), item)
}

// streamRequest is a StreamObserveRequest around encoded events. sequence is that of the first one,
// at least 1.
func streamRequest(sequence uint64, events [][]byte) []byte {
	size, field := 16, streamEvents
	for _, e := range events {
		size += len(e) + 4
	}
	if len(events) == 1 {
		field = streamEvent
	}
	b := protowire.AppendTag(make([]byte, 0, size), streamSequence, protowire.VarintType)
	b = protowire.AppendVarint(b, sequence)
	for _, e := range events {
		b = appendField(b, field, e)
	}
	return b
}
