package server

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
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/ranking"
)

// message is the reply as the library would have it.
func (r *reply) message() *pb.RecommendResponse {
	resp := &pb.RecommendResponse{
		ModelVersion: r.model.Version(), UserRevision: r.revision, UnknownItemIds: r.unknown, Degradations: r.degradations,
		ExplorationSeed: r.seed,
	}
	if r.uncertain {
		resp.Uncertainty = &r.uncertainty
	}
	if r.packed {
		resp.PackedItems = &pb.PackedItems{Source: r.source, ScoreStddevs: r.deviations, Explanations: r.explanations}
		for _, t := range r.top {
			resp.PackedItems.ItemIds = append(resp.PackedItems.ItemIds, r.model.ItemID(t.Item))
			resp.PackedItems.Scores = append(resp.PackedItems.Scores, t.Score)
		}
		return resp
	}
	for i, t := range r.top {
		item := &pb.ScoredItem{ItemId: r.model.ItemID(t.Item), Score: float64(t.Score), Source: r.source}
		if len(r.deviations) > 0 {
			item.ScoreStddev = proto.Float64(float64(r.deviations[i]))
		}
		if len(r.explanations) > 0 {
			item.Explanation = r.explanations[i]
		}
		resp.Items = append(resp.Items, item)
	}
	return resp
}

// randomReply draws a reply in which every field is sometimes absent and sometimes at its edge.
func randomReply(rng *rand.Rand, m *model.Model) *reply {
	edges := []float64{0, math.Copysign(0, -1), 1, -math.MaxFloat32, math.Inf(1), math.NaN()}
	number := func() float64 {
		if rng.IntN(3) == 0 {
			return edges[rng.IntN(len(edges))]
		}
		return rng.NormFloat64()
	}
	r := &reply{model: m, packed: rng.IntN(2) == 0, source: pb.ResultSource(rng.IntN(4)), revision: rng.Uint64() >> rng.IntN(65), seed: rng.Uint64() >> rng.IntN(65)}
	for range rng.IntN(40) {
		r.top = append(r.top, ranking.Scored{Item: int32(rng.IntN(m.NumItems())), Score: float32(number())})
	}
	if rng.IntN(2) == 0 {
		for range r.top {
			r.deviations = append(r.deviations, float32(number()))
		}
	}
	if rng.IntN(2) == 0 {
		for range r.top {
			r.explanations = append(r.explanations, randomExplanation(rng, number))
		}
	}
	for range rng.IntN(3) {
		r.noteUnknown(string(bytes.Repeat([]byte("é"), 1+rng.IntN(128))))
		r.degradations = append(r.degradations, pb.Degradation(rng.IntN(4)))
	}
	if r.uncertain = rng.IntN(2) == 0; r.uncertain {
		r.uncertainty = number()
	}
	return r
}

func randomExplanation(rng *rand.Rand, number func() float64) *pb.Explanation {
	x := &pb.Explanation{Base: number(), Remainder: number()}
	for range rng.IntN(30) {
		x.Contributions = append(x.Contributions, &pb.Contribution{ItemId: item(rng.IntN(testItems)), Events: int32(rng.IntN(3)),
			Contribution: number(), EventTime: &timestamppb.Timestamp{Seconds: int64(rng.IntN(1000))}})
	}
	return x
}

// The encoding is that of the library, byte for byte.
func TestReplyIsProtobuf(t *testing.T) {
	long := newModelOf(t, 1, func(i int) string { return item(i) + string(bytes.Repeat([]byte("x"), 10*i%250)) })
	rng := rand.New(rand.NewPCG(3, 4))
	r := &reply{}
	for range 2000 {
		*r = *randomReply(rng, long)
		got, err := r.appendTo([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		got = bytes.TrimPrefix(got, []byte("before"))
		want, err := proto.Marshal(r.message())
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(want, got) {
			continue
		}
		var decoded pb.RecommendResponse
		if err := proto.Unmarshal(got, &decoded); err != nil {
			t.Fatalf("%x does not decode: %v", got, err)
		}
		t.Fatalf("%d bytes, want %d (-want +got):\n%s", len(got), len(want), cmp.Diff(r.message(), &decoded, protocmp.Transform()))
	}
}

// Nothing of a reply is left in the one that uses its memory next.
func TestReplyReset(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	m := newModel(t, 1)
	for range 200 {
		used, fresh := randomReply(rng, m), &reply{}
		used.reset()
		used.model, fresh.model = m, m
		if got, want := used.message(), fresh.message(); !proto.Equal(got, want) {
			t.Fatalf("after reset: %v, want %v", got, want)
		}
		used.noteUnknown("again")
		if d := cmp.Diff([]string{"again"}, used.unknown); d != "" {
			t.Fatalf("unknown ids (-want +got):\n%s", d)
		}
	}
}

// The packed form says the same as the other.
func TestPackedItems(t *testing.T) {
	ts := startLearned(t, true)
	for _, i := range []int{4, 9, 20} {
		ts.observe(t, event("ann", i))
	}
	explained := exploring(forHistory(1, 2, 3), nil, 5)
	explained.Explain = 2
	narrow := exploring(forUser("nobody"), nil, 5)
	narrow.Filter = &pb.ItemFilter{AllowItemIds: []string{"unknown"}}
	for _, req := range []*pb.RecommendRequest{forUser("ann"), explained, narrow, exploring(forUser("ann"), thompson(3, 1), 10)} {
		want := ts.ask(t, req)
		req.Packed = true
		got := ts.ask(t, req)
		packed := got.GetPackedItems()
		got.PackedItems = nil
		if len(got.GetItems()) != 0 {
			t.Errorf("%d items beside the packed ones", len(got.GetItems()))
		}
		for i, id := range packed.GetItemIds() {
			scored := &pb.ScoredItem{ItemId: id, Score: float64(packed.GetScores()[i]), Source: packed.GetSource()}
			if d := packed.GetScoreStddevs(); len(d) > 0 {
				scored.ScoreStddev = proto.Float64(float64(d[i]))
			}
			if x := packed.GetExplanations(); len(x) > 0 {
				scored.Explanation = x[i]
			}
			got.Items = append(got.Items, scored)
		}
		if packed == nil {
			t.Errorf("no packed items")
		}
		if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
			t.Errorf("packed answer (-messages +packed):\n%s", d)
		}
	}
}

func BenchmarkReply(b *testing.B) {
	m := newModel(b, 1)
	r := &reply{model: m, source: pb.ResultSource_RESULT_SOURCE_PERSONALIZED, revision: 20}
	for i := range 100 {
		r.top = append(r.top, ranking.Scored{Item: int32(i % testItems), Score: float32(i)})
	}
	for _, packed := range []bool{false, true} {
		r.packed = packed
		b.Run(fmt.Sprintf("packed=%v/encode=own", packed), func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = r.appendTo(buf[:0])
			}
		})
		b.Run(fmt.Sprintf("packed=%v/encode=library", packed), func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = proto.MarshalOptions{}.MarshalAppend(buf[:0], r.message())
			}
		})
		b.Run(fmt.Sprintf("packed=%v/decode=library", packed), func(b *testing.B) {
			buf, _ := r.appendTo(nil)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				if err := proto.Unmarshal(buf, &pb.RecommendResponse{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
