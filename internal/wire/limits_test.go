package wire

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

var testLimits = Limits{
	"gsimc.v1.BatchObserveRequest.events": 1000, "gsimc.v1.StreamObserveRequest.events": 1000,
	"gsimc.v1.InlineHistory.entries": 1000, "gsimc.v1.ItemFilter.allow_item_ids": 10000,
	"gsimc.v1.ItemFilter.deny_item_ids": 10000, "gsimc.v1.SeenPolicy.event_types": 50,
}

// bomb is a message of two million empty elements in a field of a message that stands in the
// fields at path.
func bomb(tags ...byte) []byte {
	b := bytes.Repeat([]byte{tags[len(tags)-1], 0}, 2<<20)
	for i := len(tags) - 2; i >= 0; i-- {
		outer := []byte{tags[i]}
		for n := len(b); ; n >>= 7 {
			if n < 0x80 {
				outer = append(outer, byte(n))
				break
			}
			outer = append(outer, byte(n)|0x80)
		}
		b = append(outer, b...)
	}
	return b
}

// allocated is the memory that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A message of 4 MiB that would take a hundred times that is refused by the name of its field, in
// next to no memory.
func TestBombs(t *testing.T) {
	codec := NewCodec(testLimits)
	request := &pb.RecommendRequest{}
	history, filter := tagOf(request, "history"), tagOf(request, "filter")
	for _, test := range []struct {
		field   string
		message any
		data    []byte
	}{
		{"events", &pb.BatchObserveRequest{}, bomb(tagOf(&pb.BatchObserveRequest{}, "events"))},
		{"events", &StreamMessage{}, bomb(streamEvents)},
		{"events", &StreamMessage{}, bomb(streamEvents)[:1<<20]},
		{"history.entries", request, bomb(history, tagOf(&pb.InlineHistory{}, "entries"))},
		{"filter.allow_item_ids", request,
			bomb(filter, tagOf(&pb.ItemFilter{}, "allow_item_ids"))},
		{"filter.deny_item_ids", request, bomb(filter, tagOf(&pb.ItemFilter{}, "deny_item_ids"))},
		{"seen.event_types", request,
			bomb(tagOf(request, "seen"), tagOf(&pb.SeenPolicy{}, "event_types"))},
	} {
		got := allocated(func() {
			if err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(test.data)},
				test.message); err != nil {
				t.Error(err)
			}
		})
		if got >= 2<<20 {
			t.Errorf("%s: %d bytes allocated", test.field, got)
		}
		err := Malformed(test.message)
		if m, ok := test.message.(*StreamMessage); ok {
			err = m.Fault
		}
		if err == nil || !strings.HasPrefix(err.Error(), test.field+" has more than ") {
			t.Errorf("%s: %v", test.field, err)
		}
	}
}

// As many elements as are allowed are decoded, in one part or in several; one more is refused.
func TestLimitsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	codec := NewCodec(Limits{"gsimc.v1.ItemFilter.allow_item_ids": 7,
		"gsimc.v1.StreamObserveRequest.events": 7})
	for range 200 {
		n := rng.IntN(12)
		var data []byte
		for left := n; left > 0; {
			part := 1 + rng.IntN(left)
			left -= part
			encoded, err := proto.Marshal(&pb.RecommendRequest{
				Filter: &pb.ItemFilter{AllowItemIds: make([]string, part),
					DenyItemIds: make([]string, 20)}})
			check.Must(t, err)
			data = append(data, encoded...)
		}
		var got pb.RecommendRequest
		check.Must(t, codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, &got))
		if refused := Malformed(&got) != nil; refused != (n > 7) ||
			!refused && len(got.GetFilter().GetAllowItemIds()) != n {
			t.Errorf("%d elements: refused %t, %d decoded", n, refused,
				len(got.GetFilter().GetAllowItemIds()))
		}
		var m StreamMessage
		check.Must(t, codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(bytes.Repeat(
			[]byte{streamEvents, 0}, n))}, &m))
		check.Same(t, n > 7, m.Fault != nil, "%d events of a stream: refused", n)
	}
}

func BenchmarkDecodeRecommend(b *testing.B) {
	data, err := proto.Marshal(&pb.RecommendRequest{PageSize: 10,
		Subject: &pb.RecommendRequest_UserId{UserId: "user-123456"}})
	check.Must(b, err)
	for name, limits := range map[string]Limits{"limits=none": nil, "limits=some": testLimits} {
		b.Run(name, func(b *testing.B) {
			codec := NewCodec(limits)
			b.ReportAllocs()
			for b.Loop() {
				var m pb.RecommendRequest
				_ = codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, &m)
			}
		})
	}
}
