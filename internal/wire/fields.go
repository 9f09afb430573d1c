package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// tag is the tag of a field in its one-byte form: number<<3 | wire type.
type tag = byte

// The tags of the fields that this package encodes.
var (
	responseItems           = tagOf(&pb.RecommendResponse{}, "items")
	responseRecommendation  = tagOf(&pb.RecommendResponse{}, "recommendation_id")
	responseNextPageToken   = tagOf(&pb.RecommendResponse{}, "next_page_token")
	responseModelVersion    = tagOf(&pb.RecommendResponse{}, "model_version")
	responseArm             = tagOf(&pb.RecommendResponse{}, "arm")
	responseUserRevision    = tagOf(&pb.RecommendResponse{}, "user_revision")
	responseUnknownItemIDs  = tagOf(&pb.RecommendResponse{}, "unknown_item_ids")
	responseDegradations    = tagOf(&pb.RecommendResponse{}, "degradations")
	responseUncertainty     = tagOf(&pb.RecommendResponse{}, "uncertainty")
	responseExplorationSeed = tagOf(&pb.RecommendResponse{}, "exploration_seed")
	responsePackedItems     = tagOf(&pb.RecommendResponse{}, "packed_items")
	responseBecause         = tagOf(&pb.RecommendResponse{}, "because_item_id")

	batchResults        = tagOf(&pb.BatchRecommendResponse{}, "results")
	batchUnknownItemIDs = tagOf(&pb.BatchRecommendResponse{}, "unknown_item_ids")
	resultResponse      = tagOf(&pb.BatchRecommendResult{}, "response")
	resultError         = tagOf(&pb.BatchRecommendResult{}, "error")

	itemItemID      = tagOf(&pb.ScoredItem{}, "item_id")
	itemScore       = tagOf(&pb.ScoredItem{}, "score")
	itemSource      = tagOf(&pb.ScoredItem{}, "source")
	itemScoreStddev = tagOf(&pb.ScoredItem{}, "score_stddev")
	itemExplanation = tagOf(&pb.ScoredItem{}, "explanation")

	packedItemIDs      = tagOf(&pb.PackedItems{}, "item_ids")
	packedScores       = tagOf(&pb.PackedItems{}, "scores")
	packedSource       = tagOf(&pb.PackedItems{}, "source")
	packedScoreStddevs = tagOf(&pb.PackedItems{}, "score_stddevs")
	packedExplanations = tagOf(&pb.PackedItems{}, "explanations")

	streamSequence = tagOf(&pb.StreamObserveRequest{}, "sequence")
	streamEvent    = tagOf(&pb.StreamObserveRequest{}, "event")
	streamEvents   = tagOf(&pb.StreamObserveRequest{}, "events")
	streamTokens   = tagOf(&pb.StreamObserveRequest{}, "session_tokens")

	eventEventID   = tagOf(&pb.Event{}, "event_id")
	eventUserID    = tagOf(&pb.Event{}, "user_id")
	eventItemID    = tagOf(&pb.Event{}, "item_id")
	eventEventType = tagOf(&pb.Event{}, "event_type")
	eventEventTime = tagOf(&pb.Event{}, "event_time")
	eventValue     = tagOf(&pb.Event{}, "value")
	eventListID    = tagOf(&pb.Event{}, "recommendation_id")

	timeSeconds = tagOf(&timestamppb.Timestamp{}, "seconds")
	timeNanos   = tagOf(&timestamppb.Timestamp{}, "nanos")
)

// tagOf returns the tag of a field. It panics if the message has no such field, or the tag is
// longer than one byte: both are mistakes of this package, and every program that links it panics
// at its start.
func tagOf(m proto.Message, name protoreflect.Name) tag {
	message := m.ProtoReflect().Descriptor()
	field := message.Fields().ByName(name)
	if field == nil {
		panic(fmt.Sprintf("wire: message %s has no field %s", message.FullName(), name))
	}
	t := protowire.EncodeTag(field.Number(), wireType(field))
	if t >= 0x80 {
		panic(fmt.Sprintf("wire: the tag of %s is longer than one byte", field.FullName()))
	}
	return tag(t)
}

// wireType returns the form in which the library encodes the field.
func wireType(field protoreflect.FieldDescriptor) protowire.Type {
	if field.IsPacked() {
		return protowire.BytesType
	}
	switch field.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint64Kind,
		protoreflect.EnumKind, protoreflect.BoolKind:
		return protowire.VarintType
	}
	panic(fmt.Sprintf("wire: no wire type for %s of kind %s", field.FullName(), field.Kind()))
}
