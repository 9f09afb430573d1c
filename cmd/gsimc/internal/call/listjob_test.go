package call

import (
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// What BatchRecommend has no field for is asked for by calls of their own.
func TestInBatches(t *testing.T) {
	plain := Recommend{Items: 3, Seen: "only", NamedBoosts: []string{"new"}, Attribute: true,
		filterFlags: filterFlags{Deny: []string{"x"}}, placeFlags: placeFlags{Lambda: 1}}
	if !inBatches(plain.request()) {
		t.Error("a request with the fields of a batch is not asked in batches")
	}
	for name, change := range map[string]func(*pb.RecommendRequest){
		"explain":     func(r *pb.RecommendRequest) { r.Explain = 1 },
		"exploration": func(r *pb.RecommendRequest) { r.Exploration = &pb.Exploration{} },
		"list":        func(r *pb.RecommendRequest) { r.List = pb.ListKind_LIST_KIND_TRENDING },
		"diversity":   func(r *pb.RecommendRequest) { r.Diversity = &pb.Diversity{} },
		"pins":        func(r *pb.RecommendRequest) { r.Pinned = []*pb.Pin{{}} },
	} {
		r := plain.request()
		if change(r); inBatches(r) {
			t.Errorf("%s is lost in a batch", name)
		}
	}
}
