package wire

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
)

// testItems are the items of the tests.
const testItems = 30

// catalogue is a model as a list needs it.
type catalogue struct{ ids []string }

func newCatalogue(id func(i int) string) catalogue {
	c := catalogue{}
	for i := range testItems {
		c.ids = append(c.ids, id(i))
	}
	return c
}

func (c catalogue) ItemID(i int32) string { return c.ids[i] }
func (c catalogue) Version() string       { return "0123456789abcdef" }

func item(i int) string { return fmt.Sprintf("item-%02d", i) }

// randomList draws a list in which every field is sometimes absent and sometimes at its edge.
func randomList(rng *rand.Rand, m Items) *List {
	edges := []float64{0, math.Copysign(0, -1), 1, -math.MaxFloat32, math.Inf(1), math.NaN()}
	number := func() float64 {
		if rng.IntN(3) == 0 {
			return edges[rng.IntN(len(edges))]
		}
		return rng.NormFloat64()
	}
	r := &List{
		Items: m, Packed: rng.IntN(2) == 0, Source: pb.ResultSource(rng.IntN(4)),
		UserRevision: rng.Uint64() >> rng.IntN(65), ExplorationSeed: rng.Uint64() >> rng.IntN(65),
	}
	if rng.IntN(2) == 0 {
		r.NextPageToken = item(rng.IntN(testItems))
	}
	if rng.IntN(2) == 0 {
		r.RecommendationID, r.Arm = item(rng.IntN(testItems)), item(rng.IntN(testItems))
		r.Because = item(rng.IntN(testItems))
	}
	for range rng.IntN(40) {
		r.Top = append(r.Top,
			ranking.Scored{Item: int32(rng.IntN(testItems)), Score: float32(number())})
	}
	if !r.Packed && rng.IntN(2) == 0 {
		for range r.Top {
			r.Pinned = append(r.Pinned, rng.IntN(2) == 0)
		}
	}
	if rng.IntN(2) == 0 {
		for range r.Top {
			r.Deviations = append(r.Deviations, float32(number()))
		}
	}
	if rng.IntN(2) == 0 {
		for range r.Top {
			r.Explanations = append(r.Explanations, randomExplanation(rng, number))
		}
	}
	for range rng.IntN(3) {
		r.NoteUnknown(string(bytes.Repeat([]byte("é"), 1+rng.IntN(128))))
		r.Degradations = append(r.Degradations, pb.Degradation(rng.IntN(4)))
	}
	if r.Uncertain = rng.IntN(2) == 0; r.Uncertain {
		r.Uncertainty = number()
	}
	return r
}

func randomExplanation(rng *rand.Rand, number func() float64) *pb.Explanation {
	x := &pb.Explanation{Base: number(), Remainder: number()}
	for range rng.IntN(30) {
		x.Contributions = append(x.Contributions,
			&pb.Contribution{ItemId: item(rng.IntN(testItems)), Events: int32(rng.IntN(3)),
				Contribution: number(),
				EventTime:    &timestamppb.Timestamp{Seconds: int64(rng.IntN(1000))}})
	}
	return x
}

// The encoding is that of the library, byte for byte.
func TestListIsProtobuf(t *testing.T) {
	long := newCatalogue(func(i int) string {
		return item(i) + string(bytes.Repeat([]byte("x"),
			10*i%250))
	})
	rng := rand.New(rand.NewPCG(3, 4))
	r := &List{}
	for range 2000 {
		*r = *randomList(rng, long)
		got := check.Get(r.AppendTo([]byte("before")))(t)
		got = bytes.TrimPrefix(got, []byte("before"))
		want := check.Get(proto.Marshal(r.Message()))(t)
		if bytes.Equal(want, got) {
			continue
		}
		var decoded pb.RecommendResponse
		if err := proto.Unmarshal(got, &decoded); err != nil {
			t.Fatalf("%x does not decode: %v", got, err)
		}
		t.Fatalf("%d bytes, want %d (-want +got):\n%s", len(got), len(want),
			cmp.Diff(r.Message(), &decoded, protocmp.Transform()))
	}
}

// Nothing of a list is left in the one that uses its memory next.
func TestListReset(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	m := newCatalogue(item)
	for range 200 {
		used, fresh := randomList(rng, m), &List{}
		used.Reset()
		used.Items, fresh.Items = m, m
		if got, want := used.Message(), fresh.Message(); !proto.Equal(got, want) {
			t.Fatalf("after reset: %v, want %v", got, want)
		}
		used.NoteUnknown("again")
		check.MustSame(t, []string{"again"}, used.unknown, "unknown ids")
	}
}

func BenchmarkList(b *testing.B) {
	m := newCatalogue(item)
	r := &List{Items: m, Source: pb.ResultSource_RESULT_SOURCE_PERSONALIZED, UserRevision: 20}
	for i := range 100 {
		r.Top = append(r.Top, ranking.Scored{Item: int32(i % testItems), Score: float32(i)})
	}
	for _, packed := range []bool{false, true} {
		r.Packed = packed
		b.Run(fmt.Sprintf("packed=%v/encode=own", packed), func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = r.AppendTo(buf[:0])
			}
		})
		b.Run(fmt.Sprintf("packed=%v/encode=library", packed), func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = proto.MarshalOptions{}.MarshalAppend(buf[:0], r.Message())
			}
		})
		b.Run(fmt.Sprintf("packed=%v/decode=library", packed), func(b *testing.B) {
			buf, _ := r.AppendTo(nil)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				check.Must(b, proto.Unmarshal(buf, &pb.RecommendResponse{}))
			}
		})
	}
}
