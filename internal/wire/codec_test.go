package wire

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// The codec marks exactly what protobuf refuses, and finds a field only where there is a fault.
func FuzzCodec(f *testing.F) {
	good, err := proto.Marshal(&pb.BatchObserveRequest{Events: []*pb.Event{{UserId: "ann",
		ItemId: "x"}, {EventId: "a", UserId: "bob", ItemId: "y"}}})
	check.Must(f, err)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(bytes.ReplaceAll(good, []byte("bob"), []byte("b\xffb")))
	f.Add([]byte{0x0a, 0x80})
	f.Add([]byte{0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		var want, got pb.BatchObserveRequest
		refused := proto.Unmarshal(data, &want)
		if err := NewCodec(nil).Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, &got); err != nil {
			t.Fatalf("the codec fails: %v", err)
		}
		if fault := Malformed(&got); (fault != nil) != (refused != nil) {
			t.Errorf("protobuf says %v, the codec %v", refused, fault)
		}
		if field := invalidUTF8(data, got.ProtoReflect().Descriptor()); field != "" &&
			refused == nil {
			t.Errorf("field %s is at fault in a good message", field)
		}
		if refused == nil &&
			!bytes.Equal(got.ProtoReflect().GetUnknown(), want.ProtoReflect().GetUnknown()) {
			t.Error("the codec changes a good message")
		}
	})
}
