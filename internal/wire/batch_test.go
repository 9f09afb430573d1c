package wire

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// The encoding is that of the library, byte for byte, and keeps to the limit to the byte.
func TestBatchIsProtobuf(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	m := newCatalogue(item)
	for range 200 {
		b, want := NewBatch(), &pb.BatchRecommendResponse{}
		for range rng.IntN(20) {
			result := &pb.BatchRecommendResult{}
			var add func(limit int) (bool, error)
			if rng.IntN(3) == 0 {
				st, err := status.New(codes.Code(1+rng.IntN(16)), item(rng.IntN(9))).WithDetails(
					&errdetails.ErrorInfo{Reason: string(bytes.Repeat([]byte("R"), rng.IntN(200)))})
				check.Must(t, err)
				result.Result = &pb.BatchRecommendResult_Error{Error: st.Proto()}
				add = func(limit int) (bool, error) { return b.AddError(st.Proto(), limit) }
				if ErrorSize(st.Proto()) != proto.Size(&pb.BatchRecommendResponse{
					Results: []*pb.BatchRecommendResult{result}}) {
					t.Fatal("ErrorSize is not the size of an error")
				}
			} else {
				l := randomList(rng, m)
				result.Result = &pb.BatchRecommendResult_Response{Response: l.Message()}
				add = func(limit int) (bool, error) { return b.Add(l, limit) }
			}
			want.Results = append(want.Results, result)
			size := proto.Size(want)
			check.MustSame(t, false, check.Get(add(size-1))(t),
				"%d bytes fit into one less", size)
			check.MustSame(t, true, check.Get(add(size))(t), "%d bytes fit into as many", size)
		}
		for range rng.IntN(3) {
			want.UnknownItemIds = append(want.UnknownItemIds, item(rng.IntN(testItems)))
		}
		before := len(*b.data)
		e := b.Encode(want.UnknownItemIds)
		if grown := len(*e.data) - before; grown != UnknownSize(want.UnknownItemIds) {
			t.Fatalf("%d bytes for the unknown ids, not UnknownSize", grown)
		}
		encoded := check.Get(proto.Marshal(want))(t)
		// The library keeps the bits of a NaN, and so do the messages of both.
		if !bytes.Equal(encoded, slices.Clone(*e.data)) {
			t.Fatalf("%d bytes are not those of the library, %d", len(*e.data), len(encoded))
		}
		var back pb.BatchRecommendResponse
		if err := e.Decode(&back); err != nil || !proto.Equal(want, &back) {
			t.Fatalf("decoded as something else: %v", err)
		}
	}
}
