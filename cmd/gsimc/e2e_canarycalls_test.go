package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/h2test"
	"github.com/gsimc/gsimc/internal/test/nettest"
)

// everyMethod calls methods with marked values that are in order, and some that are unknown, as
// otherLists and catalogue do.
func (c *canary) everyMethod() {
	ctx := c.as(clientRoles)
	events, lists := pb.NewEventServiceClient(c.conn), pb.NewRecommenderServiceClient(c.conn)
	users := pb.NewUserServiceClient(c.conn)
	ann := markedEventOf("ann", "1")
	req := markedRequest("ann")
	req.SessionToken = c.observe(ann)
	req.Filter = &pb.ItemFilter{AllowItemIds: []string{markedItem, "1", "2"},
		DenyItemIds: []string{markedItem + "deny"}}
	req.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES,
		EventTypes: []string{markedType}}
	_, err := lists.Recommend(ctx, req)
	_, inline := lists.Recommend(ctx, &pb.RecommendRequest{Subject: &pb.RecommendRequest_History{
		History: &pb.InlineHistory{Entries: []*pb.HistoryEntry{{ItemId: markedItem,
			EventType: markedType}}}}})
	_, popular := lists.Recommend(ctx, markedRequest("nobody"))
	_, spectrum := lists.GetSpectrum(ctx, &pb.GetSpectrumRequest{
		Subject: &pb.GetSpectrumRequest_UserId{UserId: ann.GetUserId()}})
	items := pb.NewItemServiceClient(c.conn)
	_, searched := items.SearchItems(ctx, &pb.SearchItemsRequest{Query: markedItem})
	_, known := items.BatchGetItems(ctx, &pb.BatchGetItemsRequest{ItemIds: []string{markedItem}})
	_, got := users.GetUser(ctx, &pb.GetUserRequest{UserId: ann.GetUserId()})
	_, checked := healthpb.NewHealthClient(c.conn).Check(ctx, &healthpb.HealthCheckRequest{})
	check.Pass(c.t, errors.Join(err, inline, popular, got, checked, spectrum, searched,
		known), "a call that is in order")
	other := proto.CloneOf(ann)
	other.ItemId += "other"
	_, _ = events.Observe(ctx, &pb.ObserveRequest{Event: other}) // a conflict
	batch := check.Get(events.BatchObserve(ctx, &pb.BatchObserveRequest{Events: []*pb.Event{ann,
		other, markedEventOf("bob", "1"), {UserId: markedUser + strings.Repeat("x", 300)}}}))(c.t)
	for _, r := range batch.GetResults() {
		c.result(r)
	}
	c.stream(ann, other)
	_, _ = users.GetUser(ctx, &pb.GetUserRequest{UserId: markedUser + "nobody"})
	_, _ = users.DeleteUser(ctx, &pb.DeleteUserRequest{UserId: markedUser + "nobody"})
	_, _ = healthpb.NewHealthClient(c.conn).Check(ctx,
		&healthpb.HealthCheckRequest{Service: markedUser})
	admin := pb.NewAdminServiceClient(c.admin)
	st, err := admin.GetStatus(c.as("admin"), &pb.GetStatusRequest{})
	_, reloaded := admin.ReloadModel(c.as("admin"), &pb.ReloadModelRequest{})
	check.Pass(c.t, errors.Join(err, reloaded), "a call of an operator")
	c.show("GetStatus", st.String())
	copying := check.Get(admin.CreateCheckpoint(c.as("admin"), &pb.CreateCheckpointRequest{}))(c.t)
	where := check.Get(copying.Recv())(c.t)
	c.show("CreateCheckpoint", where.String())
}

// otherLists asks for lists in the other ways that there are.
func (c *canary) otherLists() {
	lists, ann := pb.NewRecommenderServiceClient(c.conn), markedUser+"ann"
	ctx := c.as(clientRoles)
	_, batch := lists.BatchRecommend(ctx, &pb.BatchRecommendRequest{Subjects: []*pb.BatchSubject{
		{Subject: &pb.BatchSubject_UserId{UserId: ann}}}})
	_, page := lists.RecommendPage(ctx, &pb.RecommendPageRequest{ByWorth: true,
		Subject: &pb.RecommendPageRequest_UserId{UserId: ann}, Rows: []*pb.PageRow{{},
			{Filter: &pb.ItemFilter{AllowItemIds: []string{markedItem}}},
			{List: pb.ListKind_LIST_KIND_BECAUSE}}})
	_, scores := lists.ScoreItems(ctx, &pb.ScoreItemsRequest{ItemIds: []string{markedItem, "1"},
		Subject: &pb.ScoreItemsRequest_UserId{UserId: ann}})
	_, similar := lists.SimilarItems(ctx, &pb.SimilarItemsRequest{ItemId: markedItem})
	check.Pass(c.t, errors.Join(batch, page, scores, similar), "a list")
}

// catalogue writes and reads marked items, and reads a user and the models.
func (c *canary) catalogue() {
	items, ctx := pb.NewItemServiceClient(c.conn), c.as(clientRoles)
	_, put := items.BatchUpsertItems(ctx, &pb.BatchUpsertItemsRequest{
		Items: []*pb.Item{{ItemId: markedItem}}})
	_, got := items.GetItem(ctx, &pb.GetItemRequest{ItemId: markedItem})
	_, listed := items.ListItems(ctx, &pb.ListItemsRequest{})
	_, deleted := items.BatchDeleteItems(ctx,
		&pb.BatchDeleteItemsRequest{ItemIds: []string{markedItem}})
	_, named := items.ListNamedFilters(ctx, &pb.ListNamedFiltersRequest{})
	_, saved := items.SaveNamedFilter(ctx, &pb.SaveNamedFilterRequest{Name: "n",
		Entry: "{any_labels: [" + markedItem + "]}", Version: markedItem})
	c.fails(saved, codes.FailedPrecondition, "a filter without a file")
	export := check.Get(pb.NewUserServiceClient(c.conn).ExportUser(ctx,
		&pb.ExportUserRequest{UserId: markedUser + "ann"}))(c.t)
	_, exported := export.Recv()
	admin := pb.NewAdminServiceClient(c.admin)
	models, err := admin.ListModels(c.as("admin"), &pb.ListModelsRequest{})
	c.show("ListModels", models.String())
	_, leveled := admin.SetLogLevel(c.as("admin"),
		&pb.SetLogLevelRequest{Level: pb.LogLevel_LOG_LEVEL_DEBUG})
	check.Pass(c.t, errors.Join(put, got, listed, deleted, named, exported, err, leveled), "a call")
	_, err = admin.SetTraffic(c.as("admin"), &pb.SetTrafficRequest{Shares: []*pb.ArmShare{
		{Arm: markedUser, SharePercent: proto.Float64(1)}}})
	c.fails(err, codes.InvalidArgument, "the share of an arm that there is not")
}

// changes reads all users and what became of them, also by a token of another user.
func (c *canary) changes() {
	users, ctx := pb.NewUserServiceClient(c.conn), c.as(clientRoles)
	list := check.Get(users.ListUsers(ctx, &pb.ListUsersRequest{}))(c.t)
	part := check.Get(list.Recv())(c.t)
	for _, u := range part.GetUsers() {
		c.session(u.GetSessionToken())
	}
	check.Get(users.BatchGetChanges(ctx, &pb.BatchGetChangesRequest{Users: part.GetUsers()}))(c.t)
	_, err := users.BatchGetChanges(ctx, &pb.BatchGetChangesRequest{Users: []*pb.UserHistory{{
		UserId: markedUser + "eve", SessionToken: part.GetUsers()[0].GetSessionToken()}}})
	c.fails(err, codes.InvalidArgument, "a token of another user")
}

// result shows what became of an event.
func (c *canary) result(r *pb.EventResult) {
	if token := r.GetSessionToken(); len(token) > 0 {
		c.session(token)
	}
	if e := r.GetError(); e != nil {
		c.show("errors", e.String())
	}
}

// stream sends events by a stream of which one is refused, and ends it with a wrong number.
func (c *canary) stream(events ...*pb.Event) {
	stream := check.Get(pb.NewEventServiceClient(c.conn).StreamObserve(c.as(clientRoles)))(c.t)
	for i, e := range append(slices.Clone(events), markedEventOf("wrong", "wrong")) {
		if i == len(events) {
			i = 1 << 20
		}
		check.Must(c.t, stream.Send(&pb.StreamObserveRequest{Sequence: uint64(i) + 1, Event: e,
			SessionTokens: true}))
	}
	for {
		resp, err := stream.Recv()
		if err != nil {
			c.fails(err, codes.InvalidArgument, "a stream with a wrong number")
			return
		}
		for _, x := range resp.GetExceptions() {
			c.result(x.GetResult())
		}
		for _, s := range resp.GetSessionTokens() {
			c.session(s.GetSessionToken())
		}
	}
}

// badFields breaks the rules of fields with marked values, and of messages with marks in them.
func (c *canary) badFields() {
	long := strings.Repeat("x", 300)
	for _, conn := range []grpc.ClientConnInterface{c.conn,
		nettest.BreakingConn{ClientConnInterface: c.conn}} {
		events, lists := pb.NewEventServiceClient(conn), pb.NewRecommenderServiceClient(conn)
		for _, bad := range []string{long, nettest.NotUTF8, nettest.CutHere + "x"} {
			if _, plain := conn.(notingConn); plain && bad != long {
				continue // only a value like others
			}
			for _, e := range []*pb.Event{
				{UserId: markedUser + bad, ItemId: markedItem}, {UserId: markedUser,
					ItemId: markedItem + bad},
				{UserId: markedUser, ItemId: markedItem, EventId: markedEvent + bad},
				{UserId: markedUser, ItemId: markedItem, EventType: markedType + bad},
				{UserId: markedUser, ItemId: markedItem, EventType: strings.ToUpper(markedType) + bad},
			} {
				_, one := events.Observe(c.as(clientRoles), &pb.ObserveRequest{Event: e})
				_, _ = events.BatchObserve(c.as(clientRoles),
					&pb.BatchObserveRequest{Events: []*pb.Event{e}})
				c.fails(one, codes.InvalidArgument, "a bad event")
			}
			id := markedUser + bad
			_, _ = lists.Recommend(c.as(clientRoles), markedRequest(bad))
			_, _ = pb.NewUserServiceClient(conn).GetUser(c.as(clientRoles),
				&pb.GetUserRequest{UserId: id})
			_, _ = pb.NewUserServiceClient(conn).DeleteUser(c.as(clientRoles),
				&pb.DeleteUserRequest{UserId: id})
			req := markedRequest("ann")
			req.Filter = &pb.ItemFilter{AllowItemIds: []string{markedItem + bad},
				DenyItemIds: []string{markedItem + bad}}
			req.Seen = &pb.SeenPolicy{EventTypes: []string{markedType + bad}}
			_, _ = lists.Recommend(c.as(clientRoles), req)
		}
	}
	_, err := pb.NewRecommenderServiceClient(c.conn).Recommend(c.as(clientRoles),
		&pb.RecommendRequest{Subject: markedRequest("ann").GetSubject(),
			Exploration: &pb.Exploration{Strategy: &pb.Exploration_Thompson_{
				Thompson: &pb.Exploration_Thompson{}}}})
	c.failed(err)
	c.failed(c.conn.Invoke(c.as(clientRoles), "/gsimc.v1.Nothing/Do", &pb.GetStatusRequest{},
		&pb.GetStatusResponse{}))
	c.halfMessage()
}

// halfMessage begins a message with marks, and lets the deadline of the call pass.
func (c *canary) halfMessage() {
	h := h2test.Dial(c.t, c.p.GRPC)
	id := h.Call(recommendMethod, h2test.Timeout(100*time.Millisecond),
		hpack.HeaderField{Name: "authorization", Value: "Bearer " + c.bearer[clientRoles]})
	body := check.Get(proto.Marshal(markedRequest("half")))(c.t)
	h.Send(id, 2*len(body), body)
	await(c.t, "half a message ends", func() bool { return h.Ended(id) })
	_ = h.Write(func(f *http2.Framer) error { // what is no message at all
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: h.ID(), EndHeaders: true,
			BlockFragment: h2test.Head(recommendMethod, hpack.HeaderField{Name: "grpc-timeout",
				Value: markedUser})})
	})
}

// badSessions demands with session tokens that are damaged, of others, of other stores, and gone.
func (c *canary) badSessions() {
	lists := pb.NewRecommenderServiceClient(c.conn)
	token := c.observe(markedEventOf("cid", "1"))
	ask := func(user string, token []byte, want codes.Code) {
		c.t.Helper()
		req := markedRequest(user)
		req.SessionToken = token
		ctx, cancel := context.WithTimeout(c.as(clientRoles), 500*time.Millisecond)
		defer cancel()
		_, err := lists.Recommend(ctx, req)
		c.fails(err, want, "a bad session token")
	}
	flipped := func(at int) []byte {
		bad := slices.Clone(token)
		bad[at] ^= 1
		return c.session(bad)
	}
	ask("ann", token, codes.InvalidArgument)
	ask("cid", flipped(len(token)-1), codes.InvalidArgument)
	ask("cid", flipped(1), codes.FailedPrecondition)
	ask("cid", token[:len(token)-1], codes.InvalidArgument)
	req := markedRequest("cid")
	req.MinUserRevision = 1000
	_, err := lists.Recommend(c.as(clientRoles), req)
	c.fails(err, codes.Unavailable, "a revision that there is not")
	users := pb.NewUserServiceClient(c.conn)
	_, listed := users.ListUserEvents(c.as(clientRoles), &pb.ListUserEventsRequest{
		UserId: markedUser + "cid"})
	_, err = users.ListUserEvents(c.as(clientRoles), &pb.ListUserEventsRequest{
		UserId: markedUser + "cid", PageToken: markedUser})
	c.fails(err, codes.InvalidArgument, "a damaged page token")
	_, retracted := users.RetractEvents(c.as(clientRoles), &pb.RetractEventsRequest{
		UserId: markedUser + "cid", EventIds: []string{markedUser}})
	_, merged := users.MergeUsers(c.as(clientRoles), &pb.MergeUsersRequest{
		SourceUserId: markedUser + "eve", TargetUserId: markedUser + "cid"})
	_, deleted := users.DeleteUser(c.as(clientRoles),
		&pb.DeleteUserRequest{UserId: markedUser + "cid"})
	check.Pass(c.t, errors.Join(listed, retracted, merged, deleted), "a call that is in order")
	ask("cid", token, codes.DataLoss)
}

// wrongTokens calls with bearer tokens that are unknown, malformed, or lack the role.
func (c *canary) wrongTokens() {
	event := &pb.ObserveRequest{Event: markedEventOf("ann", "1")}
	events := pb.NewEventServiceClient(c.conn)
	_, err := events.Observe(c.as("recommend"), event)
	c.fails(err, codes.PermissionDenied, "a token without the role")
	for _, token := range []string{markedToken, markedToken + strings.Repeat("x", 300),
		c.bearer["recommend"] + "x", markedToken + " " + markedToken} {
		for _, header := range []string{"Bearer " + token, token, "Basic " + token} {
			ctx := metadata.AppendToOutgoingContext(c.t.Context(), "authorization", header)
			_, err := events.Observe(ctx, event)
			c.fails(err, codes.Unauthenticated, "a bad token")
			_, _ = pb.NewAdminServiceClient(c.admin).GetStatus(ctx, &pb.GetStatusRequest{})
		}
	}
	stream, err := events.StreamObserve(bearing(c.t, markedToken))
	if err == nil {
		_, err = stream.Recv()
	}
	c.failed(err)
}

// noRoom makes the server refuse calls, streams, messages and users for the lack of room.
func (c *canary) noRoom() {
	events := pb.NewEventServiceClient(c.conn)
	var refused error
	for range 3 { // of two that there may be
		ctx, cancel := context.WithCancel(c.as(clientRoles))
		defer cancel()
		stream, err := events.StreamObserve(ctx)
		if err == nil {
			err = stream.Send(&pb.StreamObserveRequest{Sequence: 1,
				Event: markedEventOf("ann", "1")})
		}
		if err == nil || errors.Is(err, io.EOF) {
			_, err = stream.Recv()
		}
		if err != nil {
			refused = err
		}
	}
	c.fails(refused, codes.ResourceExhausted, "a stream too many")
	var many []*pb.Event
	for i := range 1001 {
		many = append(many, markedEventOf(fmt.Sprint("new", i), fmt.Sprint(i)))
	}
	_, _ = events.BatchObserve(c.as(clientRoles), &pb.BatchObserveRequest{Events: many})
	for _, e := range many[:200] { // more users than may come in a minute
		_, _ = events.Observe(c.as(clientRoles), &pb.ObserveRequest{Event: e})
	}
	if shown := c.shown["errors"].String(); !strings.Contains(shown, "TOO_MANY_NEW_USERS") ||
		!strings.Contains(shown, "OVERLOADED") {
		c.t.Error("no user and no call was refused for the lack of room")
	}
	_, err := pb.NewRecommenderServiceClient(c.conn).Recommend(c.as(clientRoles),
		markedRequest(strings.Repeat("x", 5<<20)))
	c.fails(err, codes.ResourceExhausted, "a message that is too large")
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, _ = pb.NewRecommenderServiceClient(c.conn).Recommend(c.as(clientRoles),
				markedRequest("ann"))
		})
	}
	all.Wait()
}
