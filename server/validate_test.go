package server

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/ingest"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// What is wrong with an event is told by its fields, in a batch too. A nil want means that the call
// succeeds. TestAnnotationsAgree has the limits that the protocol says.
func TestValidateEvent(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.Now = func() time.Time { return testNow } }})
	long := strings.Repeat("x", 257)
	at := func(when *timestamppb.Timestamp) *pb.Event {
		return &pb.Event{UserId: "u", ItemId: "i", EventTime: when}
	}
	for _, tt := range []struct {
		name  string
		event *pb.Event
		want  []string
	}{
		{"no event", nil, []string{"event"}},
		{"nothing set", &pb.Event{}, []string{"event.user_id", "event.item_id"}},
		{"all at once", &pb.Event{EventId: long, UserId: long, ItemId: long, EventType: "?",
			EventTime: &timestamppb.Timestamp{Seconds: -1}, Value: proto.Float64(1e9),
			RecommendationId: long},
			[]string{"event.event_id", "event.user_id", "event.item_id", "event.event_type",
				"event.event_time", "event.value", "event.recommendation_id"}},
		{"time with bad nanos", at(&timestamppb.Timestamp{Nanos: -1}),
			[]string{"event.event_time"}},
		{"time in year 10000", at(&timestamppb.Timestamp{Seconds: 253402300800}),
			[]string{"event.event_time"}},
		{"time in 24 h", at(timestamppb.New(testNow.Add(24 * time.Hour))), nil},
		{"time in more than 24 h", at(timestamppb.New(testNow.Add(24*time.Hour + 1))),
			[]string{"event.event_time"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: tt.event})
			checkFields(t, err, tt.want)
			if tt.event == nil {
				return
			}
			// The same event as one of a batch: REJECTED with the same field, or accepted.
			batch := reply(t, ts.events.BatchObserve,
				&pb.BatchObserveRequest{Events: []*pb.Event{tt.event}})
			var fields []string
			for _, f := range tt.want {
				fields = append(fields, strings.TrimPrefix(f, "event."))
			}
			refusal := status.ErrorProto(batch.GetResults()[0].GetError())
			check.Same(t, fields, problemOf(t, refusal).Fields, "in a batch the fields at fault")
		})
	}
}

func checkFields(t *testing.T, err error, fields []string) {
	t.Helper()
	want := problem{}
	if fields != nil {
		want = problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD", Fields: fields}
	}
	check.Same(t, want, problemOf(t, err), "status of %v", err)
}

// As for events, TestAnnotationsAgree has the limits.
func TestValidateRecommend(t *testing.T) {
	ts := start(t, setup{})
	ids := func(n int) []string { return slices.Repeat([]string{"i"}, n) }
	history := func(n int) *pb.RecommendRequest { return forHistory(make([]int, n)...) }
	with := func(req *pb.RecommendRequest, change func(*pb.RecommendRequest)) *pb.RecommendRequest {
		change(req)
		return req
	}
	seen := func(p *pb.SeenPolicy) *pb.RecommendRequest {
		return with(forUser("u"), func(r *pb.RecommendRequest) { r.Seen = p })
	}
	filter := func(f *pb.ItemFilter) *pb.RecommendRequest {
		return with(forUser("u"), func(r *pb.RecommendRequest) { r.Filter = f })
	}
	explain := func(n, page int32) *pb.RecommendRequest {
		return with(forUser("u"), func(r *pb.RecommendRequest) { r.Explain, r.PageSize = n, page })
	}
	explore := func(x *pb.Exploration) *pb.RecommendRequest {
		return with(forUser("u"), func(r *pb.RecommendRequest) { r.Exploration = x })
	}
	for _, tt := range []struct {
		name string
		req  *pb.RecommendRequest
		want []string
	}{
		{"nothing set", &pb.RecommendRequest{}, []string{"subject"}},
		{"history empty", history(0), []string{"history.entries"}},
		{"history 1000", history(1000), nil},
		{"a bad entry in the future", with(forHistory(1, 2), func(r *pb.RecommendRequest) {
			r.GetHistory().Entries[1] = &pb.HistoryEntry{EventType: "A",
				EventTime: timestamppb.New(testNow.Add(25 * time.Hour)), Value: proto.Float64(1001)}
		}), []string{"history.entries[1].item_id", "history.entries[1].event_type",
			"history.entries[1].event_time", "history.entries[1].value"}},
		{"revision with a history",
			with(history(1), func(r *pb.RecommendRequest) { r.MinUserRevision = 1 }),
			[]string{"min_user_revision"}},
		{"session token with a history",
			with(history(1), func(r *pb.RecommendRequest) { r.SessionToken = []byte{1} }),
			[]string{"session_token"}},
		{"extra history", with(forUser("u"), func(r *pb.RecommendRequest) {
			r.ExtraHistory = history(1000).GetHistory()
		}), nil},
		{"extra history empty", with(forUser("u"), func(r *pb.RecommendRequest) {
			r.ExtraHistory = &pb.InlineHistory{}
		}), []string{"extra_history.entries"}},
		{"extra history with a bad entry", with(forUser("u"), func(r *pb.RecommendRequest) {
			r.ExtraHistory = &pb.InlineHistory{Entries: []*pb.HistoryEntry{{}}}
		}), []string{"extra_history.entries[0].item_id"}},
		{"extra history with a history", with(history(1), func(r *pb.RecommendRequest) {
			r.ExtraHistory = history(1).GetHistory()
		}), []string{"extra_history"}},
		{"page size huge",
			with(forUser("u"), func(r *pb.RecommendRequest) { r.PageSize = math.MaxInt32 }), nil},
		{"explain 50", explain(50, 100), nil},
		{"explain a long page", explain(1, 101), []string{"page_size"}},
		{"a long page without explain", explain(0, 101), nil},
		{"exploration without strategy", explore(&pb.Exploration{}),
			[]string{"exploration.strategy"}},
		{"scale -1", explore(thompson(1, -1)), []string{"exploration.thompson.scale"}},
		{"beta -0.1", explore(upperConfidence(-0.1)),
			[]string{"exploration.upper_confidence.beta"}},
		{"allow 10000", filter(&pb.ItemFilter{AllowItemIds: ids(10_000)}), nil},
		{"allow with an empty id", filter(&pb.ItemFilter{AllowItemIds: []string{"a", ""}}),
			[]string{"filter.allow_item_ids[1]"}},
		{"deny with a long id",
			filter(&pb.ItemFilter{DenyItemIds: []string{strings.Repeat("x", 257)}}),
			[]string{"filter.deny_item_ids[0]"}},
		{"unknown kind of list", kindOf(99), []string{"list"}},
		{"popular and explored", with(explore(thompson(1, 1)), func(r *pb.RecommendRequest) {
			r.List = pb.ListKind_LIST_KIND_POPULAR
		}), []string{"exploration"}},
		{"unknown mode", seen(&pb.SeenPolicy{Mode: 99}), []string{"seen.mode"}},
		{"types 50",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES, EventTypes: ids(50)}), nil},
		{"types missing", seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES}),
			[]string{"seen.event_types"}},
		{"types without their mode", seen(&pb.SeenPolicy{EventTypes: ids(1)}),
			[]string{"seen.event_types"}},
		{"type bad",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES,
				EventTypes: []string{"a", "B"}}), []string{"seen.event_types[1]"}},
		{"reappear beyond the range",
			seen(&pb.SeenPolicy{ReappearAfter: &durationpb.Duration{Seconds: math.MaxInt64}}),
			[]string{"seen.reappear_after"}},
		{"reappear though included",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE,
				ReappearAfter: durationpb.New(1)}), []string{"seen.reappear_after"}},
		{"reappear though nothing else is listed",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_ONLY,
				ReappearAfter: durationpb.New(1)}), []string{"seen.reappear_after"}},
		{"types though nothing else is listed",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_ONLY, EventTypes: []string{"buy"}}),
			[]string{"seen.event_types"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ts.recommend.Recommend(ctx(t), tt.req)
			checkFields(t, err, tt.want)
		})
	}
}

// calling is a call of a method with a request.
func calling[Q, R any](
	method func(context.Context, Q, ...grpc.CallOption) (R, error), req Q,
) func(context.Context) error {
	return func(c context.Context) error {
		_, err := method(c, req)
		return err
	}
}

// TestAnnotationsAgree has the limits here too.
func TestValidateOthers(t *testing.T) {
	ts := start(t, setup{})
	long := strings.Repeat("x", 257)
	bad := upsert(&pb.Item{}, &pb.Item{ItemId: "a", Categories: []string{"x", ""}},
		&pb.Item{ItemId: "a", Labels: []string{long}},
		&pb.Item{ItemId: "b", AvailableFrom: &timestamppb.Timestamp{Seconds: -1},
			AvailableUntil: &timestamppb.Timestamp{Nanos: -1}},
		&pb.Item{ItemId: "c", AvailableFrom: &timestamppb.Timestamp{Seconds: 2},
			AvailableUntil: &timestamppb.Timestamp{Seconds: 2}},
		&pb.Item{ItemId: "d", Title: strings.Repeat("x", 513)})
	bad.UpdateMask = &fieldmaskpb.FieldMask{Paths: []string{"hidden", "item_id"}}
	history := &pb.InlineHistory{Entries: []*pb.HistoryEntry{{ItemId: long}}}
	filtered := func(f *pb.ItemFilter) *pb.RecommendRequest {
		req := forUser("u")
		req.Filter = f
		return req
	}
	for _, tt := range []struct {
		name string
		call func(context.Context) error
		want []string
	}{
		{"RetractEvents of nothing", calling(ts.users.RetractEvents,
			&pb.RetractEventsRequest{}), []string{"user_id", "event_ids"}},
		{"RetractEvents with bad ids", calling(ts.users.RetractEvents,
			&pb.RetractEventsRequest{UserId: "u", EventIds: []string{"e", "", long},
				ItemIds: []string{long, "i", ""}}),
			[]string{"event_ids[1]", "event_ids[2]", "item_ids[0]", "item_ids[2]"}},
		{"MergeUsers without ids", calling(ts.users.MergeUsers, &pb.MergeUsersRequest{}),
			[]string{"source_user_id", "target_user_id", "target_user_id"}},
		{"MergeUsers of one user", calling(ts.users.MergeUsers,
			&pb.MergeUsersRequest{SourceUserId: "u", TargetUserId: "u"}),
			[]string{"target_user_id"}},
		{"BatchUpsertItems of bad items", calling(ts.items.BatchUpsertItems, bad),
			[]string{"update_mask.paths[1]", "items[0].item_id", "items[1].categories[1]",
				"items[2].item_id", "items[2].labels[0]", "items[3].available_from",
				"items[3].available_until", "items[5].title"}},
		{"ListItems", calling(ts.items.ListItems,
			&pb.ListItemsRequest{PageSize: -1, PageToken: "!"}),
			[]string{"page_size", "page_token"}},
		{"GetSpectrum of nobody", calling(ts.recommend.GetSpectrum, &pb.GetSpectrumRequest{}),
			[]string{"subject"}},
		{"GetSpectrum of a history with another", calling(ts.recommend.GetSpectrum,
			&pb.GetSpectrumRequest{ExtraHistory: history,
				Subject: &pb.GetSpectrumRequest_History{History: history}}),
			[]string{"history.entries[0].item_id", "extra_history"}},
		{"SearchItems", calling(ts.items.SearchItems,
			&pb.SearchItemsRequest{Query: long, PageSize: -1}), []string{"query", "page_size"}},
		{"SaveNamedFilter", calling(ts.items.SaveNamedFilter, &pb.SaveNamedFilterRequest{
			Name: "a b", Entry: strings.Repeat("x", 256<<10+1)}),
			[]string{"name", "entry", "version"}},
		{"BatchGetItems of a bad id", calling(ts.items.BatchGetItems,
			&pb.BatchGetItemsRequest{ItemIds: []string{"a", long}}), []string{"item_ids[1]"}},
		{"BatchDeleteItems of a bad id", calling(ts.items.BatchDeleteItems,
			&pb.BatchDeleteItemsRequest{ItemIds: []string{"a", long}}), []string{"item_ids[1]"}},
		{"Recommend with a bad filter", calling(ts.recommend.Recommend, filtered(&pb.ItemFilter{
			AnyCategories: []string{"a", ""}, NoLabels: []string{long}, AllLabels: []string{"a"}})),
			[]string{"filter.any_categories[1]", "filter.no_labels[0]"}},
		{"SimilarItems", calling(ts.recommend.SimilarItems,
			&pb.SimilarItemsRequest{ItemId: "x", PageSize: math.MaxInt32}), nil},
		{"SimilarItems of nothing", calling(ts.recommend.SimilarItems,
			&pb.SimilarItemsRequest{PageSize: -1}), []string{"item_id", "page_size"}},
		{"SimilarItems with a bad filter", calling(ts.recommend.SimilarItems,
			&pb.SimilarItemsRequest{ItemId: "x",
				Filter: &pb.ItemFilter{AllowItemIds: []string{""}}}),
			[]string{"filter.allow_item_ids[0]"}},
		{"ListUserEvents without id", calling(ts.users.ListUserEvents,
			&pb.ListUserEventsRequest{PageSize: -1}), []string{"user_id", "page_size"}},
		{"ListUserEvents with a damaged token", calling(ts.users.ListUserEvents,
			&pb.ListUserEventsRequest{UserId: "u", PageToken: "x"}), []string{"page_token"}},
		{"ExportUser with a long id", func(c context.Context) error {
			stream, err := ts.users.ExportUser(c, &pb.ExportUserRequest{UserId: long})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, []string{"user_id"}},
		{"batch of 1000", calling(ts.events.BatchObserve, &pb.BatchObserveRequest{
			Events: slices.Repeat([]*pb.Event{newEvent("u", 1)}, 1000)}), nil},
	} {
		t.Run(tt.name, func(t *testing.T) { checkFields(t, tt.call(ctx(t)), tt.want) })
	}
}

func TestValidationIsCheap(t *testing.T) {
	e := &pb.Event{EventId: "e", UserId: "user", ItemId: "item", EventType: "view",
		EventTime: timestamppb.New(testNow), Value: proto.Float64(2)}
	if n := testing.AllocsPerRun(100, func() {
		if valid.Event(e, "event.", testNow) != nil || ingest.Record(e, testNow).User == "" {
			t.Error("a valid event is refused")
		}
	}); n > 0 {
		t.Errorf("%v allocations to check a valid event, want 0", n)
	}
}

func BenchmarkValidate(b *testing.B) {
	e := &pb.Event{EventId: "e", UserId: "user-123456", ItemId: "item-123456", EventType: "view",
		EventTime: timestamppb.New(testNow), Value: proto.Float64(2)}
	b.ReportAllocs()
	for b.Loop() {
		must(b, valid.Event(e, "event.", testNow))
		_ = ingest.Record(e, testNow)
	}
}

// For all bytes that may arrive, validation answers with an error and does not panic, and what it
// accepts the store accepts.
func FuzzValidate(f *testing.F) {
	for _, e := range []*pb.Event{newEvent("u", 1),
		{UserId: "u", ItemId: "i", EventType: "t", Value: proto.Float64(3),
			EventTime: timestamppb.New(testNow)}} {
		b := check.Get(proto.Marshal(e))(f)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e pb.Event
		if proto.Unmarshal(b, &e) == nil {
			if valid.Event(&e, "", testNow) == nil {
				r := ingest.Record(&e, testNow)
				check.Pass(t, r.Validate(), "accepted, but the store would refuse it")
			}
		}
		var r pb.RecommendRequest
		if proto.Unmarshal(b, &r) == nil {
			_ = valid.Recommend(&r, testNow)
		}
	})
}
