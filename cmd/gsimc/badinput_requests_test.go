package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// refusal is how the server said no: in the status of the call, or in the result of one event of
// many, which has no domain.
type refusal struct {
	code                    codes.Code
	reason, domain, message string
	fields                  []string
}

func refusalOf(err error) refusal {
	st := status.Convert(err)
	r := refusal{code: st.Code(), message: st.Message()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			r.reason, r.domain = d.GetReason(), d.GetDomain()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				r.fields = append(r.fields, v.GetField())
			}
		}
	}
	return r
}

// refusalOfEvent is that of an event with a result of its own; an event that was not rejected gives
// code OK.
func refusalOfEvent(result *pb.EventResult) refusal {
	if result.GetDisposition() != pb.EventDisposition_EVENT_DISPOSITION_REJECTED {
		return refusal{message: result.String()}
	}
	return refusalOf(status.ErrorProto(result.GetError()))
}

// badRequest is a call that must be refused.
type badRequest struct {
	input  string
	call   func(context.Context, grpc.ClientConnInterface) refusal
	code   codes.Code
	reason string
	field  string // that BadRequest names; empty: none
	each   bool   // the refusal is in the result of the event, which has no domain
	bare   bool   // answered by the gRPC library, without details
}

// invalid is the common case.
func invalid(
	input, field string, call func(context.Context, grpc.ClientConnInterface) refusal,
) badRequest {
	return badRequest{input: input, call: call, code: codes.InvalidArgument,
		reason: "INVALID_FIELD", field: field}
}

// testBadRequests sends bad requests to a real server, which must refuse each, stay healthy, and
// store nothing of them.
func testBadRequests(t *testing.T) {
	_, model := smallModel(t)
	dir := filepath.Join(t.TempDir(), "state")
	server := startServe(t, model, dir)
	conn := server.client(t)
	if _, err := pb.NewEventServiceClient(conn).Observe(t.Context(),
		&pb.ObserveRequest{Event: knownEvent()}); err != nil {
		t.Fatal(err)
	}
	var table badTable
	for _, cases := range [][]badRequest{badEventRequests(), badStreams(), badRecommends(),
		badScorings(), badSpectra(), badSimilars(), badBatches(), badUserRequests(), badItemRequests(),
		badMessages(), badTransport()} {
		for _, c := range cases {
			got := c.call(t.Context(), conn)
			table.add(c.input, got.code.String(), got.message)
			if problem := c.check(got); problem != "" {
				t.Errorf("%s: %s: got %+v", c.input, problem, got)
			}
		}
	}
	table.print(t, 100)
	checkUnharmed(t, server, conn, dir)
}

// check says what is wrong with a refusal.
func (c *badRequest) check(got refusal) string {
	switch {
	case got.code != c.code:
		return fmt.Sprintf("want code %v", c.code)
	case got.message == "" || strings.Contains(got.message, "\n") ||
		strings.Contains(got.message, "goroutine "):
		return "want one line of message"
	case c.bare:
		return ""
	case got.reason != c.reason:
		return "want reason " + c.reason
	case !c.each && got.domain != "gsimc":
		return `want ErrorInfo with domain "gsimc"`
	case c.field == "" && len(got.fields) > 0:
		return "want no field"
	case c.field != "" && (len(got.fields) == 0 || got.fields[0] != c.field):
		return "want field " + c.field
	case c.field != "" && !strings.HasPrefix(got.message, c.field+" "):
		return "want a message that names the field"
	}
	return ""
}

// checkUnharmed checks that the server is healthy and answers, and that the store holds the one
// good event and nothing else.
func checkUnharmed(t *testing.T, server *serverProcess, conn grpc.ClientConnInterface, dir string) {
	t.Helper()
	health, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health is %v, %v", health.GetStatus(), err)
	}
	if got := recommendTo(t, conn, "known", 5); len(got.Items) != 5 || got.Revision != 1 {
		t.Errorf("a good request got %+v, want 5 items of revision 1", got)
	}
	server.mustStop(t)
	for _, bad := range []string{"panic", "goroutine ", `"level":"ERROR"`} {
		for line := range strings.Lines(server.log.String()) {
			if strings.Contains(line, bad) && !strings.Contains(line,
				"received message larger than max") {
				t.Errorf("the server logged %s", line)
			}
		}
	}
	st, err := pebble.Open(context.Background(), dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]uint64{}
	err = st.Each(t.Context(), 0, 1, func(user string, head store.Version) error {
		users[user] = head.Revision
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]uint64{"known": 1}, users); diff != "" {
		t.Errorf("revisions of the users in the store (-want +got):\n%s", diff)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// badRecommends breaks each rule of Recommend once.
func badRecommends() []badRequest {
	long := strings.Repeat("x", 257)
	var cases []badRequest
	add := func(input, field string, change func(*pb.RecommendRequest)) {
		cases = append(cases, invalid("Recommend: "+input, field,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				r := &pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: "nobody"}}
				change(r)
				_, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx, r)
				return refusalOf(err)
			}))
	}
	user := func(id string) func(*pb.RecommendRequest) {
		return func(r *pb.RecommendRequest) { r.Subject = &pb.RecommendRequest_UserId{UserId: id} }
	}
	history := func(entries ...*pb.HistoryEntry) func(*pb.RecommendRequest) {
		return func(r *pb.RecommendRequest) {
			r.Subject = &pb.RecommendRequest_History{History: &pb.InlineHistory{Entries: entries}}
		}
	}
	add("no subject", "subject", func(r *pb.RecommendRequest) { r.Subject = nil })
	add("user_id empty", "user_id", user(""))
	add("user_id of 257 bytes", "user_id", user(long))
	add("history empty", "history.entries", history())
	add("history of 1001 entries", "history.entries", history(make([]*pb.HistoryEntry, 1001)...))
	for _, e := range badEvents() {
		if e.inHistory() {
			add("history entry: "+e.input, "history.entries[1]."+e.field,
				history(&pb.HistoryEntry{ItemId: "1"}, e.entry()))
		}
	}
	add("min_user_revision with a history", "min_user_revision", func(r *pb.RecommendRequest) {
		history(&pb.HistoryEntry{ItemId: "1"})(r)
		r.MinUserRevision = 1
	})
	add("an empty extra_history", "extra_history.entries",
		func(r *pb.RecommendRequest) { r.ExtraHistory = &pb.InlineHistory{} })
	add("a damaged page_token", "page_token",
		func(r *pb.RecommendRequest) { r.PageToken = "x" })
	add("page_size -1", "page_size", func(r *pb.RecommendRequest) { r.PageSize = -1 })
	for _, list := range []string{"allow_item_ids", "deny_item_ids"} {
		filter := func(ids ...string) func(*pb.RecommendRequest) {
			return func(r *pb.RecommendRequest) {
				r.Filter = &pb.ItemFilter{AllowItemIds: ids}
				if list == "deny_item_ids" {
					r.Filter = &pb.ItemFilter{DenyItemIds: ids}
				}
			}
		}
		add("10,001 "+list, "filter."+list, filter(strings.Split(strings.Repeat("x,", 10_000),
			",")...))
		add(list+" with an empty id", "filter."+list+"[1]", filter("a", ""))
		add(list+" with an id of 257 bytes", "filter."+list+"[1]", filter("a", long))
	}
	for _, s := range badSeenPolicies() {
		add(s.input, s.field, func(r *pb.RecommendRequest) { r.Seen = s.policy })
	}
	return append(cases, badRequest{input: "Recommend: min_user_revision in the future",
		code: codes.Unavailable, reason: "STALE_REVISION",
		call: func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
			_, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx,
				&pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: "known"},
					MinUserRevision: 2})
			return refusalOf(err)
		}})
}

// badScorings breaks the rules of ScoreItems that Recommend does not have.
func badScorings() []badRequest {
	var cases []badRequest
	for input, r := range map[string]*pb.ScoreItemsRequest{
		"subject":  {ItemIds: []string{"1"}},
		"item_ids": {Subject: &pb.ScoreItemsRequest_UserId{UserId: "nobody"}},
		"item_ids[1]": {Subject: &pb.ScoreItemsRequest_UserId{UserId: "nobody"},
			ItemIds: []string{"1", ""}},
	} {
		cases = append(cases, invalid("ScoreItems: bad "+input, input,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				_, err := pb.NewRecommenderServiceClient(conn).ScoreItems(ctx, r)
				return refusalOf(err)
			}))
	}
	return cases
}

// badSpectra breaks the rules of GetSpectrum.
func badSpectra() []badRequest {
	var cases []badRequest
	for input, r := range map[string]*pb.GetSpectrumRequest{
		"subject": {},
		"user_id": {Subject: &pb.GetSpectrumRequest_UserId{}},
		"extra_history.entries": {Subject: &pb.GetSpectrumRequest_UserId{UserId: "u"},
			ExtraHistory: &pb.InlineHistory{}},
	} {
		cases = append(cases, invalid("GetSpectrum: bad "+input, input,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				_, err := pb.NewRecommenderServiceClient(conn).GetSpectrum(ctx, r)
				return refusalOf(err)
			}))
	}
	return cases
}

// badSimilars breaks the rules of SimilarItems.
func badSimilars() []badRequest {
	var cases []badRequest
	for input, r := range map[string]*pb.SimilarItemsRequest{
		"item_id":   {},
		"page_size": {ItemId: "1", PageSize: -1},
		"filter.allow_item_ids[0]": {ItemId: "1",
			Filter: &pb.ItemFilter{AllowItemIds: []string{""}}},
	} {
		cases = append(cases, invalid("SimilarItems: bad "+input, input,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				_, err := pb.NewRecommenderServiceClient(conn).SimilarItems(ctx, r)
				return refusalOf(err)
			}))
	}
	return cases
}

// badBatches breaks the rules of BatchRecommend that Recommend does not have.
func badBatches() []badRequest {
	var cases []badRequest
	few := []*pb.BatchSubject{{Subject: &pb.BatchSubject_UserId{UserId: "nobody"}}}
	for input, r := range map[string]*pb.BatchRecommendRequest{
		"subjects":  {Subjects: make([]*pb.BatchSubject, 1001)},
		"page_size": {Subjects: few, PageSize: -1},
		"seen.mode": {Subjects: few, Seen: &pb.SeenPolicy{Mode: 9}},
		"filter.deny_item_ids[0]": {Subjects: few,
			Filter: &pb.ItemFilter{DenyItemIds: []string{""}}},
	} {
		cases = append(cases, invalid("BatchRecommend: bad "+input, input,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				_, err := pb.NewRecommenderServiceClient(conn).BatchRecommend(ctx, r)
				return refusalOf(err)
			}))
	}
	return cases
}

// badItemRequests breaks rules of ItemService, and of filters.
func badItemRequests() []badRequest {
	var cases []badRequest
	add := func(field string, call func(context.Context, pb.ItemServiceClient) error) {
		cases = append(cases, invalid("ItemService: bad "+field, field,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				return refusalOf(call(ctx, pb.NewItemServiceClient(conn)))
			}))
	}
	for field, items := range map[string][]*pb.Item{
		"items": {}, "items[0].item_id": {{}}, "items[1].item_id": {{ItemId: "a"}, {ItemId: "a"}},
		"items[0].categories": {{ItemId: "a", Categories: []string{""}}},
		"items[0].labels":     {{ItemId: "a", Labels: []string{strings.Repeat("x", 257)}}},
	} {
		add(field, func(ctx context.Context, c pb.ItemServiceClient) error {
			_, err := c.BatchUpsertItems(ctx, &pb.BatchUpsertItemsRequest{Items: items})
			return err
		})
	}
	add("item_id", func(ctx context.Context, c pb.ItemServiceClient) error {
		_, err := c.GetItem(ctx, &pb.GetItemRequest{})
		return err
	})
	add("page_token", func(ctx context.Context, c pb.ItemServiceClient) error {
		_, err := c.ListItems(ctx, &pb.ListItemsRequest{PageToken: "?"})
		return err
	})
	add("query", func(ctx context.Context, c pb.ItemServiceClient) error {
		_, err := c.SearchItems(ctx, &pb.SearchItemsRequest{Query: strings.Repeat("x", 257)})
		return err
	})
	add("item_ids[1]", func(ctx context.Context, c pb.ItemServiceClient) error {
		_, err := c.BatchGetItems(ctx, &pb.BatchGetItemsRequest{ItemIds: []string{"a", ""}})
		return err
	})
	add("item_ids[0]", func(ctx context.Context, c pb.ItemServiceClient) error {
		_, err := c.BatchDeleteItems(ctx, &pb.BatchDeleteItemsRequest{ItemIds: []string{""}})
		return err
	})
	return cases
}

// badUserRequests breaks the rules of UserService.
func badUserRequests() []badRequest {
	var cases []badRequest
	for name, call := range map[string]func(context.Context, pb.UserServiceClient, string) error{
		"GetUser": func(ctx context.Context, c pb.UserServiceClient, id string) error {
			_, err := c.GetUser(ctx, &pb.GetUserRequest{UserId: id})
			return err
		},
		"DeleteUser": func(ctx context.Context, c pb.UserServiceClient, id string) error {
			_, err := c.DeleteUser(ctx, &pb.DeleteUserRequest{UserId: id})
			return err
		},
		"ListUserEvents": func(ctx context.Context, c pb.UserServiceClient, id string) error {
			_, err := c.ListUserEvents(ctx, &pb.ListUserEventsRequest{UserId: id})
			return err
		},
		"ExportUser": func(ctx context.Context, c pb.UserServiceClient, id string) error {
			stream, err := c.ExportUser(ctx, &pb.ExportUserRequest{UserId: id})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
	} {
		with := func(id string) func(context.Context, grpc.ClientConnInterface) refusal {
			return func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				return refusalOf(call(ctx, pb.NewUserServiceClient(conn), id))
			}
		}
		cases = append(cases,
			invalid(name+": user_id empty", "user_id", with("")),
			invalid(name+": user_id of 257 bytes", "user_id", with(strings.Repeat("x", 257))),
			badRequest{input: name + ": unknown user", call: with("nobody"), code: codes.NotFound,
				reason: "USER_NOT_FOUND"})
	}
	for input, r := range map[string]*pb.RetractEventsRequest{
		"event_ids": {UserId: "known"}, "item_ids[0]": {UserId: "known", ItemIds: []string{""}},
	} {
		cases = append(cases, invalid("RetractEvents: bad "+input, input,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				_, err := pb.NewUserServiceClient(conn).RetractEvents(ctx, r)
				return refusalOf(err)
			}))
	}
	for input, r := range map[string]*pb.MergeUsersRequest{
		"source_user_id": {TargetUserId: "known"},
		"target_user_id": {SourceUserId: "known", TargetUserId: "known"},
	} {
		cases = append(cases, invalid("MergeUsers: bad "+input, input,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				_, err := pb.NewUserServiceClient(conn).MergeUsers(ctx, r)
				return refusalOf(err)
			}))
	}
	for input, r := range map[string]*pb.ListUserEventsRequest{
		"page_size":  {UserId: "known", PageSize: -1},
		"page_token": {UserId: "known", PageToken: "not a token"},
	} {
		cases = append(cases, invalid("ListUserEvents: bad "+input, input,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				_, err := pb.NewUserServiceClient(conn).ListUserEvents(ctx, r)
				return refusalOf(err)
			}))
	}
	return cases
}
