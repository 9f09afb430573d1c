package server

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/valid"
)

func TestRecommendIsTheModelsTopN(t *testing.T) {
	for _, est := range []model.Estimator{model.EstimatorBGS, model.EstimatorGS} {
		t.Run(string(est), func(t *testing.T) {
			ts := start(t, setup{config: func(c *Config) {
				c.Estimator = est
				c.EventWeights = map[string]float64{"buy": 3}
			}})
			buy, half := newEvent("ann", 11), newEvent("ann", 20)
			buy.EventType = "buy"
			half.Value = proto.Float64(0.5)
			for i, e := range []*pb.Event{newEvent("ann", 3), buy, half} {
				if resp := ts.observe(t, e); resp.GetUserRevision() != uint64(i+1) {
					t.Errorf("revision of event %d is %d", i+1, resp.GetUserRevision())
				}
			}
			got := ts.ask(t, forUser("ann"))

			m := newModel(t, 1)
			st, q, skip := m.NewState(), m.NewQuery(), ranking.NewSet(m.NumItems())
			at := testNow.Unix()
			m.Fold(st, model.Event{Item: 3, Weight: 1, Time: at})
			m.Fold(st, model.Event{Item: 11, Weight: 3, Time: at})
			m.Fold(st, model.Event{Item: 20, Weight: 0.5, Time: at})
			m.QueryTo(q, st, est)
			for _, i := range []int32{3, 11, 20} {
				skip.Add(i)
			}
			want := &pb.RecommendResponse{ModelVersion: m.Version(), UserRevision: 3}
			for _, s := range m.TopN(nil, q, 10, skip) {
				want.Items = append(want.Items,
					&pb.ScoredItem{ItemId: m.ItemID(s.Item), Score: float64(s.Score),
						Source: pb.ResultSource_RESULT_SOURCE_PERSONALIZED})
			}
			same(t, want, got, "answer")

			// The same history inline gives the same list, and says nothing of a stored user.
			inline := forHistory(3, 11, 20)
			inline.GetHistory().Entries[1].EventType = "buy"
			inline.GetHistory().Entries[2].Value = proto.Float64(0.5)
			want.UserRevision = 0
			same(t, want, ts.ask(t, inline), "answer to an inline history")
		})
	}
}

func TestRecommendPopular(t *testing.T) {
	ts := start(t,
		setup{config: func(c *Config) { c.EventWeights = map[string]float64{"ignored": 0} }})
	m := newModel(t, 1)
	weightless := newEvent("bob", int(m.Popular()[0]))
	weightless.EventType = "ignored"
	ts.observe(t, weightless)
	unknown := &pb.Event{UserId: "eve", ItemId: "not in the model"}
	if resp := ts.observe(t,
		unknown); resp.GetDisposition() != pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM {
		t.Errorf("disposition of an event on an unknown item is %v", resp.GetDisposition())
	}
	inline := &pb.RecommendRequest{Subject: &pb.RecommendRequest_History{History: &pb.InlineHistory{
		Entries: []*pb.HistoryEntry{{ItemId: "nowhere"}, {ItemId: "nowhere"}}}}}

	for _, tt := range []struct {
		name    string
		req     *pb.RecommendRequest
		why     pb.Degradation
		rev     uint64
		skip    int // the most popular items left out
		unknown []string
	}{
		{"unknown user", forUser("nobody"), pb.Degradation_DEGRADATION_UNKNOWN_USER, 0, 0, nil},
		{"weight 0: seen, but no taste", forUser("bob"),
			pb.Degradation_DEGRADATION_NO_USABLE_HISTORY, 1, 1, nil},
		{"only unknown items", forUser("eve"), pb.Degradation_DEGRADATION_NO_USABLE_HISTORY, 1, 0,
			nil},
		{"inline, only unknown items", inline, pb.Degradation_DEGRADATION_NO_USABLE_HISTORY, 0, 0,
			[]string{"nowhere"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := &pb.RecommendResponse{ModelVersion: m.Version(), UserRevision: tt.rev,
				UnknownItemIds: tt.unknown,
				Degradations:   []pb.Degradation{tt.why}}
			for _, i := range m.Popular()[tt.skip : tt.skip+10] {
				want.Items = append(want.Items,
					&pb.ScoredItem{ItemId: m.ItemID(i),
						Source: pb.ResultSource_RESULT_SOURCE_POPULAR,
						Score:  float64(float32(m.Degree(i)) / float32(m.NumTrainUsers()))})
			}
			same(t, want, ts.ask(t, tt.req), "answer")
		})
	}
	same(t, 2, ts.states.Len(), "states in the cache")
}

func TestRecommendPageSize(t *testing.T) {
	ts := start(t, setup{})
	for _, tt := range []struct {
		size int32
		want int
	}{{0, 10}, {1, 1}, {testItems - 1, testItems - 1}, {testItems, testItems}, {1000,
		testItems}, {1 << 30, testItems}} {
		req := forUser("nobody")
		req.PageSize = tt.size
		resp := ts.ask(t, req)
		same(t, tt.want, len(resp.GetItems()), "items of page_size %d", tt.size)
		if slices.Contains(resp.GetDegradations(), pb.Degradation_DEGRADATION_FILTER_TOO_NARROW) {
			t.Errorf("page_size %d: FILTER_TOO_NARROW without a filter", tt.size)
		}
	}
	same(t, 1000, valid.PageSize(1001), "page_size 1001 is read as")
}

func TestRecommendFilters(t *testing.T) {
	ts := start(t, setup{})
	ts.observe(t, newEvent("ann", 0))
	full := forUser("ann")
	full.PageSize = testItems
	ranking := itemIDs(ts.ask(t, full)) // all but item 0

	for _, tt := range []struct {
		name    string
		filter  *pb.ItemFilter
		size    int32
		want    []string
		unknown []string
		narrow  bool
	}{
		{"deny", &pb.ItemFilter{DenyItemIds: []string{ranking[0], ranking[2], "unknown"}}, 2,
			[]string{ranking[1], ranking[3]}, nil, false},
		{"allow, in order of score",
			&pb.ItemFilter{AllowItemIds: []string{ranking[9], "x", ranking[4], "x"}}, 2,
			[]string{ranking[4], ranking[9]}, []string{"x"}, false},
		{"allow too few", &pb.ItemFilter{AllowItemIds: []string{ranking[9]}}, 2,
			[]string{ranking[9]}, nil, true},
		{"allow a seen item", &pb.ItemFilter{AllowItemIds: []string{item(0), ranking[9]}}, 2,
			[]string{ranking[9]}, nil, true},
		{"allow and deny", &pb.ItemFilter{AllowItemIds: ranking[:3], DenyItemIds: ranking[1:2]}, 2,
			[]string{ranking[0], ranking[2]}, nil, false},
		{"allow only unknown", &pb.ItemFilter{AllowItemIds: []string{"x"}}, 2, nil, []string{"x"},
			true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := forUser("ann")
			req.PageSize, req.Filter = tt.size, tt.filter
			resp := ts.ask(t, req)
			same(t, tt.want, itemIDs(resp), "items")
			same(t, tt.unknown, resp.GetUnknownItemIds(), "unknown_item_ids")
			same(t, tt.narrow, slices.Contains(resp.GetDegradations(),
				pb.Degradation_DEGRADATION_FILTER_TOO_NARROW), "FILTER_TOO_NARROW")
		})
	}
}

func TestRecommendSeenPolicy(t *testing.T) {
	ts := start(t, setup{})
	for _, e := range []struct {
		item int
		kind string
		age  time.Duration
	}{{0, "view", 48 * time.Hour}, {0, "view", 3 * time.Hour}, {1, "view", 48 * time.Hour}, {2,
		"buy", time.Hour}, {3, "buy", 48 * time.Hour}} {
		ev := newEvent("ann", e.item)
		ev.EventType, ev.EventTime = e.kind, timestamppb.New(testNow.Add(-e.age))
		ts.observe(t, ev)
	}
	day := durationpb.New(24 * time.Hour)
	for _, tt := range []struct {
		name     string
		policy   *pb.SeenPolicy
		excluded []int
	}{
		{"unset", nil, []int{0, 1, 2, 3}},
		{"unspecified", &pb.SeenPolicy{}, []int{0, 1, 2, 3}},
		{"exclude", &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE}, []int{0, 1, 2, 3}},
		{"exclude types",
			&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES,
				EventTypes: []string{"buy", "share"}}, []int{2, 3}},
		{"include", &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}, nil},
		{"reappear", &pb.SeenPolicy{ReappearAfter: day}, []int{0, 2}},
		{"reappear by type",
			&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES, EventTypes: []string{"view"},
				ReappearAfter: day}, []int{0}},
		{"reappear after a very long time",
			&pb.SeenPolicy{ReappearAfter: &durationpb.Duration{Seconds: 315_576_000_000}},
			[]int{0, 1, 2, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := forUser("ann")
			req.PageSize, req.Seen = testItems, tt.policy
			listed := itemIDs(ts.ask(t, req))
			var excluded []int
			for i := range testItems {
				if !slices.Contains(listed, item(i)) {
					excluded = append(excluded, i)
				}
			}
			same(t, tt.excluded, excluded, "excluded items")
		})
	}
}

// TestRecommendSeenWithoutTimes: nothing in an inline history without times is old.
func TestRecommendSeenWithoutTimes(t *testing.T) {
	ts := start(t, setup{})
	for name, at := range map[string]*timestamppb.Timestamp{"no times": nil,
		"an old time": timestamppb.New(testNow.Add(-48 * time.Hour))} {
		entries := []*pb.HistoryEntry{{ItemId: item(0), EventTime: at},
			{ItemId: item(1), EventTime: at}}
		req := &pb.RecommendRequest{Subject: &pb.RecommendRequest_History{
			History: &pb.InlineHistory{Entries: entries},
		}}
		req.PageSize, req.Seen = testItems, &pb.SeenPolicy{ReappearAfter: durationpb.New(
			24 * time.Hour)}
		listed := itemIDs(ts.ask(t, req))
		for i := range entries {
			same(t, at != nil, slices.Contains(listed, item(i)), "%s: item %d listed", name, i)
		}
	}
}

func TestRecommendMinUserRevision(t *testing.T) {
	ts := start(t, setup{})
	ts.observe(t, newEvent("ann", 0))
	for _, tt := range []struct {
		user string
		min  uint64
		want codes.Code
	}{{"ann", 0, codes.OK}, {"ann", 1, codes.OK}, {"ann", 2, codes.Unavailable}, {"nobody", 1,
		codes.Unavailable}} {
		req := forUser(tt.user)
		req.MinUserRevision = tt.min
		_, err := ts.recommend.Recommend(ctx(t), req)
		want := problem{Code: tt.want}
		if tt.want != codes.OK {
			want.Reason, want.Retry = "STALE_REVISION", true
		}
		same(t, want, problemOf(t, err), "%s, min_user_revision %d", tt.user, tt.min)
	}
}

// A request leaves little behind for the garbage collector, however it is made.
func TestRecommendAllocations(t *testing.T) {
	// The console looks at all metrics at its start, which are thousands of allocations that count.
	ts := start(t, setup{open: named(t, "learned"), config: func(c *Config) { c.Console = ConsoleOff }})
	for i := range 20 {
		ts.observe(t, newEvent("ann", i))
	}
	filtered := forUser("ann")
	filtered.Filter = &pb.ItemFilter{AllowItemIds: []string{item(21), item(22), item(23)},
		DenyItemIds: []string{item(22)}}
	filtered.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES,
		EventTypes: []string{"buy", "like"}}
	for name, req := range map[string]*pb.RecommendRequest{
		"plain": exploring(forUser("ann"), nil, testItems), "filtered": filtered,
		"draw":         exploring(forUser("ann"), thompson(1, 1), 10),
		"unknown user": exploring(forUser("nobody"), nil, 10),
	} {
		const most = 25
		c := ctx(t)
		got := testing.AllocsPerRun(100, func() {
			answer := check.Get(ts.services.recommend.Encoded(c, req))(t)
			answer.Free()
		})
		t.Logf("%s: %v allocations", name, got)
		if got > most {
			t.Errorf("%s: %v allocations, want at most %d", name, got, most)
		}
	}
}
