package httpjson

import (
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

var spelling = protojson.MarshalOptions{EmitDefaultValues: true}

// A list has the text of protojson, but for spaces and the forms of numbers.
func TestTextsOfLists(t *testing.T) {
	item := func(id string, score float64) *pb.ScoredItem {
		return &pb.ScoredItem{ItemId: id, Score: score, Source: pb.ResultSource_RESULT_SOURCE_POPULAR}
	}
	lists := map[string]*pb.RecommendResponse{
		"empty":   {},
		"no item": {ModelVersion: "[]", UnknownItemIds: []string{"[]"}, NextPageToken: "{}"},
		"plain": {Items: []*pb.ScoredItem{item("a", .1), item("b", -2), {}},
			ModelVersion: "v", UserRevision: math.MaxUint64, Uncertainty: proto.Float64(.5),
			Degradations: []pb.Degradation{pb.Degradation_DEGRADATION_UNKNOWN_USER}},
		"packed": {PackedItems: &pb.PackedItems{ItemIds: []string{"a"}, Scores: []float32{.1}}},
		"explained": {Items: []*pb.ScoredItem{item("a", 1), {ItemId: "b", Explanation: &pb.Explanation{
			Base: 1, Contributions: []*pb.Contribution{{ItemId: "c"}}}}, item("d", 1)}},
		"a source of a later version": {Items: []*pb.ScoredItem{{ItemId: "a", Source: 99}}},
	}
	for _, id := range []string{"", `"`, `\`, "\n", "\x00\x1f\x7f", "é", "日本", "\u2028", "<&>", "a b"} {
		lists["id "+id] = &pb.RecommendResponse{Items: []*pb.ScoredItem{item(id, 1), item("z", 1)}}
	}
	for list := range lists {
		t.Run(list, func(t *testing.T) { sameText(t, lists[list]) })
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1, 1e6, 1e20, 1e21, 1e-4, 1e-6, 1e-7, -1.5e300,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1),
		float64(float32(.1))} {
		with := item("a", x)
		with.ScoreStddev = proto.Float64(x)
		sameText(t, &pb.RecommendResponse{Items: []*pb.ScoredItem{item("a", x), with}})
	}
}

// sameText compares the text of a list with that of protojson, twice: the first encoding must leave
// the list as it is.
func sameText(t *testing.T, list *pb.RecommendResponse) {
	t.Helper()
	l := lines{&runtime.JSONPb{MarshalOptions: spelling}}
	oracle := check.Get(spelling.Marshal(list))(t)
	for range 2 {
		text := check.Get(l.Marshal(list))(t)
		check.Same(t, valuesOf(t, oracle), valuesOf(t, text), "%v (-protojson +list)", list)
		back := &pb.RecommendResponse{}
		check.Must(t, protojson.Unmarshal(text, back))
		if !proto.Equal(list, back) {
			t.Errorf("%v came back as %v", list, back)
		}
	}
}

// valuesOf returns the values of a text of JSON, and its names and strings in their order.
func valuesOf(t *testing.T, text []byte) any {
	t.Helper()
	var all any
	check.Must(t, json.Unmarshal(text, &all))
	var order []string
	tokens := json.NewDecoder(strings.NewReader(string(text)))
	for {
		token, err := tokens.Token()
		if err == io.EOF {
			return []any{all, order}
		}
		check.Must(t, err)
		if name, ok := token.(string); ok {
			order = append(order, name)
		}
	}
}

// FuzzTextsOfLists compares the texts of items with those of protojson.
func FuzzTextsOfLists(f *testing.F) {
	f.Add("id", .5, .1, int32(1), true)
	f.Fuzz(func(t *testing.T, id string, score, deviation float64, source int32, deviates bool) {
		item := &pb.ScoredItem{ItemId: strings.ToValidUTF8(id, "?"), Score: score,
			Source: pb.ResultSource(source)}
		if deviates {
			item.ScoreStddev = &deviation
		}
		sameText(t, &pb.RecommendResponse{Items: []*pb.ScoredItem{item, {ItemId: "next"}}})
	})
}

func BenchmarkTextOfList(b *testing.B) {
	list := &pb.RecommendResponse{ModelVersion: strings.Repeat("v", 64)}
	for i := range 100 {
		list.Items = append(list.Items, &pb.ScoredItem{ItemId: "item-12345", Score: 1 / float64(i+3),
			Source: pb.ResultSource_RESULT_SOURCE_PERSONALIZED})
	}
	l := lines{&runtime.JSONPb{MarshalOptions: spelling}}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			_, _ = l.Marshal(list)
		}
	})
	b.Run("protojson", func(b *testing.B) {
		for b.Loop() {
			_, _ = spelling.Marshal(list)
		}
	})
}
