package server

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/ingest"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// Each limit on the value just inside it and just outside. A nil want means that the call succeeds.
func TestValidateEvent(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.Now = func() time.Time { return testNow } }})
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name  string
		event *pb.Event
		want  []string
	}{
		{"no event", nil, []string{"event"}},
		{"nothing set", &pb.Event{}, []string{"event.user_id", "event.item_id"}},
		{"user id 1", &pb.Event{UserId: "u", ItemId: "i"}, nil},
		{"user id 256", &pb.Event{UserId: long(256), ItemId: "i"}, nil},
		{"user id 257", &pb.Event{UserId: long(257), ItemId: "i"}, []string{"event.user_id"}},
		{"item id 256", &pb.Event{UserId: "u", ItemId: long(256)}, nil},
		{"item id 257", &pb.Event{UserId: "u", ItemId: long(257)}, []string{"event.item_id"}},
		{"event id 64", &pb.Event{UserId: "u", ItemId: "i", EventId: long(64)}, nil},
		{"event id 65", &pb.Event{UserId: "u", ItemId: "i", EventId: long(65)},
			[]string{"event.event_id"}},
		{"recommendation id 256",
			&pb.Event{UserId: "u", ItemId: "i", RecommendationId: long(256)}, nil},
		{"recommendation id 257",
			&pb.Event{UserId: "u", ItemId: "i", RecommendationId: long(257)},
			[]string{"event.recommendation_id"}},
		{"type 64", &pb.Event{UserId: "u", ItemId: "i", EventType: long(64)}, nil},
		{"type 65", &pb.Event{UserId: "u", ItemId: "i", EventType: long(65)},
			[]string{"event.event_type"}},
		{"type with all characters", &pb.Event{UserId: "u", ItemId: "i", EventType: "a0_.-z9"},
			nil},
		{"type beginning with a digit", &pb.Event{UserId: "u", ItemId: "i", EventType: "0a"},
			[]string{"event.event_type"}},
		{"type in capitals", &pb.Event{UserId: "u", ItemId: "i", EventType: "Buy"},
			[]string{"event.event_type"}},
		{"type with a space", &pb.Event{UserId: "u", ItemId: "i", EventType: "a b"},
			[]string{"event.event_type"}},
		{"type not ASCII", &pb.Event{UserId: "u", ItemId: "i", EventType: "é"},
			[]string{"event.event_type"}},
		{"time 1970", &pb.Event{UserId: "u", ItemId: "i", EventTime: &timestamppb.Timestamp{}},
			nil},
		{"time 1969",
			&pb.Event{UserId: "u", ItemId: "i",
				EventTime: &timestamppb.Timestamp{Seconds: -1, Nanos: 999_999_999}},
			[]string{"event.event_time"}},
		{"time with bad nanos",
			&pb.Event{UserId: "u", ItemId: "i", EventTime: &timestamppb.Timestamp{Nanos: -1}},
			[]string{"event.event_time"}},
		{"time in year 10000",
			&pb.Event{UserId: "u", ItemId: "i",
				EventTime: &timestamppb.Timestamp{Seconds: 253402300800}},
			[]string{"event.event_time"}},
		{"time in 24 h",
			&pb.Event{UserId: "u", ItemId: "i",
				EventTime: timestamppb.New(testNow.Add(24 * time.Hour))}, nil},
		{"time in more than 24 h",
			&pb.Event{UserId: "u", ItemId: "i",
				EventTime: timestamppb.New(testNow.Add(24*time.Hour + 1))},
			[]string{"event.event_time"}},
		{"value 1000",
			&pb.Event{UserId: "u", ItemId: "i", EventType: "v1", Value: proto.Float64(1000)}, nil},
		{"value -1000",
			&pb.Event{UserId: "u", ItemId: "i", EventType: "v2", Value: proto.Float64(-1000)}, nil},
		{"value over 1000",
			&pb.Event{UserId: "u", ItemId: "i", Value: proto.Float64(math.Nextafter(1000, 2000))},
			[]string{"event.value"}},
		{"value under -1000", &pb.Event{UserId: "u", ItemId: "i", Value: proto.Float64(-1000.5)},
			[]string{"event.value"}},
		{"value NaN", &pb.Event{UserId: "u", ItemId: "i", Value: proto.Float64(math.NaN())},
			[]string{"event.value"}},
		{"value infinite", &pb.Event{UserId: "u", ItemId: "i", Value: proto.Float64(math.Inf(1))},
			[]string{"event.value"}},
		{"three at once", &pb.Event{UserId: "u", EventType: "?", Value: proto.Float64(1e9)},
			[]string{"event.item_id", "event.event_type", "event.value"}},
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
			if got := problemOf(t, refusal).Fields; !slices.Equal(got, fields) {
				t.Errorf("in a batch the fields at fault are %q, want %q", got, fields)
			}
		})
	}
}

func checkFields(t *testing.T, err error, fields []string) {
	t.Helper()
	want := problem{}
	if fields != nil {
		want = problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD", Fields: fields}
	}
	if d := cmp.Diff(want, problemOf(t, err)); d != "" {
		t.Errorf("status (-want +got):\n%s\n%v", d, err)
	}
}

func TestValidateRecommend(t *testing.T) {
	ts := start(t, setup{})
	ids := func(n int) []string {
		s := make([]string, n)
		for i := range s {
			s[i] = "i"
		}
		return s
	}
	history := func(n int) *pb.RecommendRequest { return forHistory(make([]int, n)...) }
	with := func(req *pb.RecommendRequest, change func(*pb.RecommendRequest)) *pb.RecommendRequest {
		change(req)
		return req
	}
	seen := func(p *pb.SeenPolicy) *pb.RecommendRequest {
		return with(forUser("u"), func(r *pb.RecommendRequest) { r.Seen = p })
	}
	entry := func(e *pb.HistoryEntry) *pb.RecommendRequest {
		return with(forHistory(1, 2),
			func(r *pb.RecommendRequest) { r.GetHistory().Entries[1] = e })
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
		{"user id empty", forUser(""), []string{"user_id"}},
		{"user id 256", forUser(strings.Repeat("x", 256)), nil},
		{"user id 257", forUser(strings.Repeat("x", 257)), []string{"user_id"}},
		{"history empty", history(0), []string{"history.entries"}},
		{"history 1000", history(1000), nil},
		{"history 1001", history(1001), []string{"history.entries"}},
		{"entry without item", entry(&pb.HistoryEntry{}), []string{"history.entries[1].item_id"}},
		{"entry with a bad type", entry(&pb.HistoryEntry{ItemId: "i", EventType: "A"}),
			[]string{"history.entries[1].event_type"}},
		{"entry in the future",
			entry(&pb.HistoryEntry{ItemId: "i",
				EventTime: timestamppb.New(testNow.Add(25 * time.Hour))}),
			[]string{"history.entries[1].event_time"}},
		{"entry with a bad value", entry(&pb.HistoryEntry{ItemId: "i", Value: proto.Float64(1001)}),
			[]string{"history.entries[1].value"}},
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
		{"page size -1", with(forUser("u"), func(r *pb.RecommendRequest) { r.PageSize = -1 }),
			[]string{"page_size"}},
		{"page size huge",
			with(forUser("u"), func(r *pb.RecommendRequest) { r.PageSize = math.MaxInt32 }), nil},
		{"explain 50", explain(50, 100), nil},
		{"explain 51", explain(51, 0), []string{"explain"}},
		{"explain -1", explain(-1, 1000), []string{"explain"}},
		{"explain a long page", explain(1, 101), []string{"page_size"}},
		{"a long page without explain", explain(0, 101), nil},
		{"exploration without strategy", explore(&pb.Exploration{}),
			[]string{"exploration.strategy"}},
		{"scale -1", explore(thompson(1, -1)), []string{"exploration.thompson.scale"}},
		{"scale NaN", explore(thompson(1, math.NaN())), []string{"exploration.thompson.scale"}},
		{"scale over 100", explore(thompson(1, 100.5)), []string{"exploration.thompson.scale"}},
		{"beta -0.1", explore(upperConfidence(-0.1)),
			[]string{"exploration.upper_confidence.beta"}},
		{"beta infinite", explore(upperConfidence(math.Inf(1))),
			[]string{"exploration.upper_confidence.beta"}},
		{"allow 10000", filter(&pb.ItemFilter{AllowItemIds: ids(10_000)}), nil},
		{"allow 10001", filter(&pb.ItemFilter{AllowItemIds: ids(10_001)}),
			[]string{"filter.allow_item_ids"}},
		{"allow with an empty id", filter(&pb.ItemFilter{AllowItemIds: []string{"a", ""}}),
			[]string{"filter.allow_item_ids[1]"}},
		{"deny 10001", filter(&pb.ItemFilter{DenyItemIds: ids(10_001)}),
			[]string{"filter.deny_item_ids"}},
		{"deny with a long id",
			filter(&pb.ItemFilter{DenyItemIds: []string{strings.Repeat("x", 257)}}),
			[]string{"filter.deny_item_ids[0]"}},
		{"unknown mode", seen(&pb.SeenPolicy{Mode: 4}), []string{"seen.mode"}},
		{"types 1",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES, EventTypes: ids(1)}), nil},
		{"types 50",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES, EventTypes: ids(50)}), nil},
		{"types 51",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES, EventTypes: ids(51)}),
			[]string{"seen.event_types"}},
		{"types missing", seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES}),
			[]string{"seen.event_types"}},
		{"types without their mode", seen(&pb.SeenPolicy{EventTypes: ids(1)}),
			[]string{"seen.event_types"}},
		{"type bad",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES,
				EventTypes: []string{"a", "B"}}), []string{"seen.event_types[1]"}},
		{"type empty",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES, EventTypes: []string{""}}),
			[]string{"seen.event_types[0]"}},
		{"reappear at once", seen(&pb.SeenPolicy{ReappearAfter: &durationpb.Duration{}}),
			[]string{"seen.reappear_after"}},
		{"reappear after 1 ns", seen(&pb.SeenPolicy{ReappearAfter: durationpb.New(1)}), nil},
		{"reappear before", seen(&pb.SeenPolicy{ReappearAfter: durationpb.New(-1)}),
			[]string{"seen.reappear_after"}},
		{"reappear beyond the range",
			seen(&pb.SeenPolicy{ReappearAfter: &durationpb.Duration{Seconds: math.MaxInt64}}),
			[]string{"seen.reappear_after"}},
		{"reappear though included",
			seen(&pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE,
				ReappearAfter: durationpb.New(1)}), []string{"seen.reappear_after"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ts.recommend.Recommend(ctx(t), tt.req)
			checkFields(t, err, tt.want)
		})
	}
}

func TestValidateOthers(t *testing.T) {
	ts := start(t, setup{})
	long := strings.Repeat("x", 257)
	batch := func(n int) *pb.BatchObserveRequest {
		r := &pb.BatchObserveRequest{}
		for range n {
			r.Events = append(r.Events, newEvent("u", 1))
		}
		return r
	}
	for _, tt := range []struct {
		name string
		call func(context.Context) error
		want []string
	}{
		{"GetUser without id",
			func(c context.Context) error {
				_,
					err := ts.users.GetUser(c, &pb.GetUserRequest{})
				return err
			}, []string{"user_id"}},
		{"GetUser with a long id", func(c context.Context) error {
			_, err := ts.users.GetUser(c, &pb.GetUserRequest{UserId: long})
			return err
		}, []string{"user_id"}},
		{"DeleteUser without id", func(c context.Context) error {
			_, err := ts.users.DeleteUser(c, &pb.DeleteUserRequest{AllowMissing: true})
			return err
		}, []string{"user_id"}},
		{"RetractEvents of nothing", func(c context.Context) error {
			_, err := ts.users.RetractEvents(c, &pb.RetractEventsRequest{})
			return err
		}, []string{"user_id", "event_ids"}},
		{"RetractEvents with bad ids", func(c context.Context) error {
			_, err := ts.users.RetractEvents(c, &pb.RetractEventsRequest{UserId: "u",
				EventIds: []string{"e", "", long}, ItemIds: []string{long, "i", ""}})
			return err
		}, []string{"event_ids[1]", "event_ids[2]", "item_ids[0]", "item_ids[2]"}},
		{"MergeUsers without ids", func(c context.Context) error {
			_, err := ts.users.MergeUsers(c, &pb.MergeUsersRequest{})
			return err
		}, []string{"source_user_id", "target_user_id", "target_user_id"}},
		{"MergeUsers of one user", func(c context.Context) error {
			_, err := ts.users.MergeUsers(c,
				&pb.MergeUsersRequest{SourceUserId: "u", TargetUserId: "u"})
			return err
		}, []string{"target_user_id"}},
		{"BatchUpsertItems of nothing", func(c context.Context) error {
			_, err := ts.items.BatchUpsertItems(c, upsert())
			return err
		}, []string{"items"}},
		{"BatchUpsertItems of too many items", func(c context.Context) error {
			_, err := ts.items.BatchUpsertItems(c, upsert(make([]*pb.Item, 1001)...))
			return err
		}, []string{"items"}},
		{"BatchUpsertItems of bad items", func(c context.Context) error {
			req := upsert(&pb.Item{}, &pb.Item{ItemId: "a", Categories: []string{"x", ""}},
				&pb.Item{ItemId: "a", Labels: []string{long}},
				&pb.Item{ItemId: "b", AvailableFrom: &timestamppb.Timestamp{Seconds: -1},
					AvailableUntil: &timestamppb.Timestamp{Nanos: -1}},
				&pb.Item{ItemId: "c", AvailableFrom: &timestamppb.Timestamp{Seconds: 2},
					AvailableUntil: &timestamppb.Timestamp{Seconds: 2}},
				&pb.Item{ItemId: "d", Title: strings.Repeat("x", 513)})
			req.UpdateMask = &fieldmaskpb.FieldMask{Paths: []string{"hidden", "item_id"}}
			_, err := ts.items.BatchUpsertItems(c, req)
			return err
		}, []string{"update_mask.paths[1]", "items[0].item_id", "items[1].categories",
			"items[2].item_id", "items[2].labels", "items[3].available_from",
			"items[3].available_until", "items[5].title"}},
		{"BatchUpsertItems of an item that is never available", func(c context.Context) error {
			_, err := ts.items.BatchUpsertItems(c, upsert(&pb.Item{ItemId: "c",
				AvailableFrom:  &timestamppb.Timestamp{Seconds: 2},
				AvailableUntil: &timestamppb.Timestamp{Seconds: 2}}))
			return err
		}, []string{"items[0].available_until"}},
		{"GetItem with a long id", func(c context.Context) error {
			_, err := ts.items.GetItem(c, &pb.GetItemRequest{ItemId: long})
			return err
		}, []string{"item_id"}},
		{"ListItems", func(c context.Context) error {
			_, err := ts.items.ListItems(c, &pb.ListItemsRequest{PageSize: -1, PageToken: "!"})
			return err
		}, []string{"page_size", "page_token"}},
		{"GetSpectrum of nobody", func(c context.Context) error {
			_, err := ts.recommend.GetSpectrum(c, &pb.GetSpectrumRequest{})
			return err
		}, []string{"subject"}},
		{"GetSpectrum of a history with another", func(c context.Context) error {
			h := &pb.InlineHistory{Entries: []*pb.HistoryEntry{{ItemId: long}}}
			_, err := ts.recommend.GetSpectrum(c, &pb.GetSpectrumRequest{
				Subject: &pb.GetSpectrumRequest_History{History: h}, ExtraHistory: h})
			return err
		}, []string{"history.entries[0].item_id", "extra_history"}},
		{"SearchItems", func(c context.Context) error {
			_, err := ts.items.SearchItems(c, &pb.SearchItemsRequest{Query: long, PageSize: -1})
			return err
		}, []string{"query", "page_size"}},
		{"BatchGetItems of nothing", func(c context.Context) error {
			_, err := ts.items.BatchGetItems(c, &pb.BatchGetItemsRequest{})
			return err
		}, []string{"item_ids"}},
		{"BatchGetItems of a bad id", func(c context.Context) error {
			_, err := ts.items.BatchGetItems(c,
				&pb.BatchGetItemsRequest{ItemIds: []string{"a", long}})
			return err
		}, []string{"item_ids[1]"}},
		{"BatchDeleteItems of nothing", func(c context.Context) error {
			_, err := ts.items.BatchDeleteItems(c, &pb.BatchDeleteItemsRequest{})
			return err
		}, []string{"item_ids"}},
		{"BatchDeleteItems of a bad id", func(c context.Context) error {
			_, err := ts.items.BatchDeleteItems(c,
				&pb.BatchDeleteItemsRequest{ItemIds: []string{"a", long}})
			return err
		}, []string{"item_ids[1]"}},
		{"Recommend with a bad filter", func(c context.Context) error {
			req := forUser("u")
			req.Filter = &pb.ItemFilter{AnyCategories: []string{"a", ""},
				NoLabels: []string{long}, AllLabels: []string{"a"}}
			_, err := ts.recommend.Recommend(c, req)
			return err
		}, []string{"filter.any_categories[1]", "filter.no_labels[0]"}},
		{"Recommend with a long filter", func(c context.Context) error {
			req := forUser("u")
			req.Filter = &pb.ItemFilter{AllLabels: make([]string, 101)}
			_, err := ts.recommend.Recommend(c, req)
			return err
		}, []string{"filter.all_labels"}},
		{"ListUserEvents without id", func(c context.Context) error {
			_, err := ts.users.ListUserEvents(c, &pb.ListUserEventsRequest{PageSize: -1})
			return err
		}, []string{"user_id", "page_size"}},
		{"ListUserEvents with a damaged token", func(c context.Context) error {
			_, err := ts.users.ListUserEvents(c,
				&pb.ListUserEventsRequest{UserId: "u", PageToken: "x"})
			return err
		}, []string{"page_token"}},
		{"ExportUser with a long id", func(c context.Context) error {
			stream, err := ts.users.ExportUser(c, &pb.ExportUserRequest{UserId: long})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, []string{"user_id"}},
		{"batch of 0",
			func(c context.Context) error {
				_,
					err := ts.events.BatchObserve(c, batch(0))
				return err
			}, []string{"events"}},
		{"batch of 1000",
			func(c context.Context) error {
				_,
					err := ts.events.BatchObserve(c, batch(1000))
				return err
			}, nil},
		{"batch of 1001",
			func(c context.Context) error {
				_,
					err := ts.events.BatchObserve(c, batch(1001))
				return err
			}, []string{"events"}},
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
		b, err := proto.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e pb.Event
		if proto.Unmarshal(b, &e) == nil {
			if valid.Event(&e, "", testNow) == nil {
				r := ingest.Record(&e, testNow)
				if err := r.Validate(); err != nil {
					t.Errorf("accepted, but the store would refuse it: %v", err)
				}
			}
		}
		var r pb.RecommendRequest
		if proto.Unmarshal(b, &r) == nil {
			_ = valid.Recommend(&r, testNow)
		}
	})
}
