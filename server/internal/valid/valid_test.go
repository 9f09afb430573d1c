package valid

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
)

var testNow = time.Unix(1_700_000_000, 0)

// A transport would not carry invalid UTF-8 at all; the rule holds for callers inside the process
// too.
func TestInvalidUTF8(t *testing.T) {
	if badID("\xff") == "" || badText("\xff", 9) == "" {
		t.Error("invalid UTF-8 is accepted as an id or a title")
	}
}

// A number that is no choice is told which choices there are.
func TestChoicesAreNamed(t *testing.T) {
	boost := &pb.Boost{Weight: 1, By: &pb.NumberCurve{Number: "price", Shape: -1, Scale: 1}}
	for want, req := range map[string]*pb.RecommendRequest{
		"seen.mode must be one of MODE_EXCLUDE, MODE_EXCLUDE_TYPES, MODE_INCLUDE, MODE_ONLY, or unset": {
			Seen: &pb.SeenPolicy{Mode: 99}},
		"boosts[0].by.shape must be one of SHAPE_LINEAR, SHAPE_LOG, SHAPE_GAUSS, SHAPE_AGE, or unset": {
			Boosts: []*pb.Boost{boost}},
	} {
		req.Subject = &pb.RecommendRequest_UserId{UserId: "u"}
		err := Recommend(req, testNow)
		if err == nil {
			t.Fatalf("no error, want %q", want)
		}
		check.Same(t, want, err.Error(), "the error")
	}
}

// Of the names that an item has, the bad one is named.
func TestBadNamesAreNamed(t *testing.T) {
	for want, item := range map[string]*pb.Item{
		`items[0].numbers has the name "PreisMitSteuer", which must match ` + event.NumberSpelling: {
			Numbers: map[string]float64{"price": 1, "PreisMitSteuer": 2}},
		"items[0].labels[1] is required": {Labels: []string{"new", ""}},
	} {
		item.ItemId = "a"
		err := UpsertItems(&pb.BatchUpsertItemsRequest{Items: []*pb.Item{item}})
		if err == nil {
			t.Fatalf("no error, want %q", want)
		}
		check.Same(t, want, err.Error(), "the error")
	}
}

// A range that no number is in is a mistake, and the bound is named.
func TestRangesThatNothingIsIn(t *testing.T) {
	lower, upper := 5.0, 1.0
	for want, r := range map[string]*pb.NumberRange{
		"filter.ranges[0].lte must not be below gte, which is 5": {Gte: &lower, Lte: &upper},
		"filter.ranges[0].lt must not be below gt, which is 5":   {Gt: &lower, Lt: &upper},
		"filter.ranges[0].gte must not stand beside gt":          {Gt: &upper, Gte: &lower},
		"filter.ranges[0].lte must not stand beside lt":          {Lt: &lower, Lte: &lower},
		"": {Gte: &upper, Lt: &lower},
	} {
		r.Name = "price"
		err := Recommend(&pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: "a"},
			Filter: &pb.ItemFilter{Ranges: []*pb.NumberRange{r}}}, testNow)
		if want == "" {
			check.Pass(t, err, "a range with a number in it")
		} else if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A request cannot make its own refusal large.
func TestFaultsAreBounded(t *testing.T) {
	ids := make([]string, MaxFilterIDs)
	err := Recommend(&pb.RecommendRequest{Filter: &pb.ItemFilter{DenyItemIds: ids}}, testNow)
	if invalid, ok := errors.AsType[*Error](err); !ok || len(invalid.Faults) != maxFaults {
		t.Errorf("%d empty ids: %v, want %d faults", len(ids), err, maxFaults)
	}
}

// goodRecommends are requests from the smallest to the largest.
func goodRecommends() map[string]*pb.RecommendRequest {
	ids := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("item-%08d", i)
		}
		return list
	}
	user := func() *pb.RecommendRequest {
		return &pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: "user-123456"}}
	}
	plain, few, full := user(), user(), user()
	entries := &pb.InlineHistory{}
	history := &pb.RecommendRequest{Subject: &pb.RecommendRequest_History{History: entries}}
	few.PageSize, few.Explain = 100, 5
	few.Filter = &pb.ItemFilter{DenyItemIds: ids(20)}
	few.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES,
		EventTypes: []string{"buy", "view"}}
	few.Exploration = &pb.Exploration{Strategy: &pb.Exploration_UpperConfidence_{
		UpperConfidence: &pb.Exploration_UpperConfidence{Beta: proto.Float64(1)}}}
	full.Filter = &pb.ItemFilter{AllowItemIds: ids(MaxFilterIDs), DenyItemIds: ids(MaxFilterIDs)}
	for _, id := range ids(MaxHistory) {
		entries.Entries = append(entries.Entries,
			&pb.HistoryEntry{ItemId: id, EventType: "view", EventTime: timestamppb.New(testNow),
				Value: proto.Float64(1)})
	}
	return map[string]*pb.RecommendRequest{"user": plain, "filter": few, "ids=20000": full,
		"entries=1000": history}
}

func TestRecommendDoesNotAllocate(t *testing.T) {
	for name, req := range goodRecommends() {
		if n := testing.AllocsPerRun(10, func() {
			if err := Recommend(req, testNow); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations to check a valid request, want 0", name, n)
		}
	}
}

func BenchmarkRecommend(b *testing.B) {
	for name, req := range goodRecommends() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				check.Must(b, Recommend(req, testNow))
			}
		})
	}
}
