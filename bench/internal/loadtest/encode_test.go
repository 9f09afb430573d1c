package loadtest

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// What is encoded by hand is what the library decodes.
func TestEncode(t *testing.T) {
	var events [][]byte
	want := &pb.StreamObserveRequest{Sequence: 1 << 20}
	for _, item := range []string{"x", strings.Repeat("y", 200)} {
		events = append(events, appendEvent(nil, []byte("id"), []byte("ann"), item))
		want.Events = append(want.Events, &pb.Event{EventId: "id", UserId: "ann", ItemId: item})
	}
	var unary pb.ObserveRequest
	err := proto.Unmarshal(appendField(nil, observeEvent, events[0]), &unary)
	if err != nil || !proto.Equal(&unary, &pb.ObserveRequest{Event: want.Events[0]}) {
		t.Errorf("ObserveRequest: %v, %v", &unary, err)
	}
	single := &pb.StreamObserveRequest{Sequence: want.Sequence, Event: want.Events[0]}
	for n, want := range map[int]*pb.StreamObserveRequest{1: single, 2: want} {
		var got pb.StreamObserveRequest
		err := proto.Unmarshal(streamRequest(want.Sequence, events[:n]), &got)
		if err != nil || !proto.Equal(&got, want) {
			t.Errorf("StreamObserveRequest: %v, %v, want %v", &got, err, want)
		}
	}
}
