package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/users"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// written sends n events of a user and returns them as they are listed, the oldest first.
func (ts *testServer) written(t *testing.T, user string, n int) []*pb.UserEvent {
	t.Helper()
	var events []*pb.UserEvent
	for i := range n {
		value := float64(i % 100)
		e := &pb.Event{EventId: fmt.Sprint("e", i), UserId: user, ItemId: item(i % testItems),
			EventType: []string{"like", "view"}[i%2], Value: &value,
			EventTime: timestamppb.New(testNow.AddDate(0, 0, -i))}
		revision := ts.observe(t, e).GetUserRevision()
		events = append(events, &pb.UserEvent{Event: e, Revision: revision})
	}
	return events
}

// pages returns the events of a whole listing, and calls between before each page but the first.
func (ts *testServer) pages(
	t *testing.T, user string, size func() int32, between func(),
) []*pb.UserEvent {
	t.Helper()
	var events []*pb.UserEvent
	req := &pb.ListUserEventsRequest{UserId: user}
	for {
		req.PageSize = size()
		r := reply(t, ts.users.ListUserEvents, req)
		if n := r.GetEvents(); len(n) == 0 || len(n) > int(req.PageSize) {
			t.Fatalf("a page of %d events, want 1 to %d", len(n), req.PageSize)
		}
		events = append(events, r.GetEvents()...)
		if req.PageToken = r.GetNextPageToken(); req.PageToken == "" {
			return events
		}
		between()
	}
}

// A listing has each event once, the newest first, whatever the sizes of its pages, and whatever
// arrives between them.
func TestListUserEvents(t *testing.T) {
	ts := start(t, setup{})
	want := ts.written(t, "ann", 50)
	slices.Reverse(want)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		size := func() int32 { return 1 + rng.Int32N(30) }
		got := ts.pages(t, "ann", size, func() {
			late := &pb.UserEvent{Event: newEvent("ann", rng.IntN(testItems))}
			late.Revision = ts.observe(t, late.Event).GetUserRevision()
		})
		mustSame(t, want, got[len(got)-len(want):], "seed %d", seed)
		for i, e := range got {
			if e.GetRevision() != uint64(len(got)-i) {
				t.Fatalf("seed %d: event %d has revision %d of %d", seed, i, e.GetRevision(), len(got))
			}
		}
	}
}

// listProblem is what the server says to a request for a page.
func (ts *testServer) listProblem(t *testing.T, user, token string) problem {
	t.Helper()
	_, err := ts.users.ListUserEvents(ctx(t),
		&pb.ListUserEventsRequest{UserId: user, PageToken: token, PageSize: 2})
	return problemOf(t, err)
}

// A token is good for the history that was listed and no other.
func TestPageTokens(t *testing.T) {
	st := memory.New()
	ts, other := start(t, setup{store: st}), start(t, setup{})
	token := func(ts *testServer) string {
		ts.written(t, "ann", 5)
		r, err := ts.users.ListUserEvents(ctx(t), &pb.ListUserEventsRequest{UserId: "ann", PageSize: 2})
		if err != nil || r.GetTotalSize() != 5 || len(r.GetNextPageToken()) > 64 {
			t.Fatalf("%v, %v", r, err)
		}
		return r.GetNextPageToken()
	}
	good, foreign := token(ts), token(other)
	head, _, err := st.Since(t.Context(), "ann", store.Version{}, nil)
	must(t, err)
	damaged := problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD",
		Fields: []string{"page_token"}}
	changed := problem{Code: codes.FailedPrecondition, Reason: "HISTORY_CHANGED"}
	beyond := users.EventPage{Head: head, Last: 6}.Token(st.Identity(), "ann")
	for _, tt := range []struct {
		name, user, token string
		want              problem
	}{
		{"good", "ann", good, problem{}},
		{"of another user", "bob", good, damaged},
		{"damaged", "ann", good[:20] + string(good[20]^1) + good[21:], damaged},
		{"of a session", "ann", string(make([]byte, session.TokenBytes)), damaged},
		{"too long", "ann", good + "A", damaged},
		{"not base64", "ann", "!" + good[1:], damaged},
		{"beyond the history", "ann", beyond, damaged},
		{"before the history", "ann",
			users.EventPage{Head: head, Last: 0}.Token(st.Identity(), "ann"), damaged},
		{"of another store", "ann", foreign,
			problem{Code: codes.FailedPrecondition, Reason: "OTHER_STORE"}},
	} {
		same(t, tt.want, ts.listProblem(t, tt.user, tt.token), "%s", tt.name)
	}
	reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: "ann"})
	same(t, changed, ts.listProblem(t, "ann", good), "after an erasure")
	ts.written(t, "ann", 9)
	same(t, changed, ts.listProblem(t, "ann", good), "in another life")
}

// exported returns the messages of an export.
func (ts *testServer) exported(
	t *testing.T, user string, each func(int),
) (all []*pb.ExportUserResponse, err error) {
	t.Helper()
	stream, err := ts.users.ExportUser(ctx(t), &pb.ExportUserRequest{UserId: user})
	for err == nil {
		var r *pb.ExportUserResponse
		if r, err = stream.Recv(); err == nil {
			all = append(all, r)
			each(len(all))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

// An export is the summary and every event, and can be sent to another server, which then says the
// same of the user.
func TestExportUser(t *testing.T) {
	weights := func(c *Config) { c.EventWeights = event.Weights{"view": 0.25} }
	ts := start(t, setup{config: weights})
	want := ts.written(t, "ann", 2*users.ExportChunk+7)
	all := check.Get(ts.exported(t, "ann", func(int) {}))(t)
	summary := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "ann"})
	same(t, &pb.ExportUserResponse{User: summary.GetUser()}, all[0], "the first message")
	var got []*pb.UserEvent
	back := start(t, setup{config: weights})
	for _, r := range all[1:] {
		got = append(got, r.GetEvents()...)
		batch := &pb.BatchObserveRequest{}
		for _, e := range r.GetEvents() {
			batch.Events = append(batch.Events, e.GetEvent())
		}
		reply(t, back.events.BatchObserve, batch)
	}
	same(t, want, got, "events")
	copied := reply(t, back.users.GetUser, &pb.GetUserRequest{UserId: "ann"})
	same(t, summary, copied, "the user at the other server")
}

// An export of a user who is erased meanwhile does not end with OK, nor with the events of the next
// life; one beside which events arrive does not have them.
func TestExportIsOfOneMoment(t *testing.T) {
	for _, tt := range []struct {
		name  string
		erase bool
		want  problem
	}{
		{"events arrive", false, problem{}},
		{"the user is erased", true,
			problem{Code: codes.FailedPrecondition, Reason: "HISTORY_CHANGED"}},
	} {
		st := &hookedStore{Store: memory.New()}
		ts := start(t, setup{store: st})
		ts.written(t, "ann", users.ExportChunk+1)
		reads := 0
		st.SinceFunc = func(c context.Context, user string, known store.Version,
			fn func(store.Version, store.Event) error) (store.Version, bool, error) {
			if reads++; known.Revision == users.ExportChunk { // between two messages
				if tt.erase {
					if _, err := st.Erase(c, "ann"); err != nil {
						t.Error(err)
					}
				}
				for i := range users.ExportChunk + 2 {
					appendEvent(t, st, "ann", fmt.Sprint("late", i))
				}
			}
			return st.Store.Since(c, user, known, fn)
		}
		all, err := ts.exported(t, "ann", func(int) {})
		same(t, tt.want, problemOf(t, err), "%s", tt.name)
		n := 0
		for _, r := range all {
			n += len(r.GetEvents())
		}
		chunk := users.ExportChunk
		check.Same(t, map[bool]int{false: chunk + 1, true: chunk}[tt.erase], n,
			"%s: events", tt.name)
	}
}

// appendEvent writes an event to a store.
func appendEvent(t *testing.T, st store.Store, user, id string) {
	t.Helper()
	_, err := st.Append(context.Background(), []store.Record{{User: user, Event: store.Event{
		ID: id, Item: item(1), Type: "like", Time: testNow, Value: 1}}})
	if err != nil {
		t.Error(err)
	}
}

// An export that its client does not read makes room.
func TestUnreadExportsMakeRoom(t *testing.T) {
	ts := start(t, setup{bounds: func(b *bounds) {
		b.users.Exports, b.sendTimeout = users.NewExports(1), time.Hour
	}})
	ts.written(t, "ann", 10*users.ExportChunk) // more than is under way
	unread, err := ts.users.ExportUser(t.Context(), &pb.ExportUserRequest{UserId: "ann"})
	must(t, err)
	check.Get(unread.Recv())(t)
	_, err = ts.exported(t, "ann", func(int) {})
	want := problem{Code: codes.ResourceExhausted, Reason: "OVERLOADED", Retry: true}
	same(t, want, problemOf(t, err), "one export more at once")
	eventually(t, "another export has room", func() bool {
		_, err := ts.exported(t, "ann", func(int) {})
		return err == nil
	})
	for err == nil {
		_, err = unread.Recv()
	}
	same(t, want, problemOf(t, err), "the export that made room")
}

// The summary has the types of events with their counts and weights.
func TestEventTypesOfUser(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) {
		c.EventWeights = event.Weights{"view": 0.25, "dislike": -1, "seen": 0}
	}})
	two := 2.0
	for i, e := range []*pb.Event{{EventType: "view"}, {EventType: "view", Value: &two},
		{EventType: "dislike"}, {}, {EventType: "seen", Value: &two}, {EventType: "view"}} {
		e.UserId, e.ItemId = "ann", item(i)
		ts.observe(t, e)
	}
	ts.observe(t, &pb.Event{UserId: "ann", ItemId: "unknown"})
	r := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "ann"})
	want := []*pb.EventTypeSummary{
		{EventType: "view", EventCount: 3, Weight: 0.25, TotalWeight: 1},
		{EventType: "like", EventCount: 2, Weight: 1, TotalWeight: 2},
		{EventType: "dislike", EventCount: 1, Weight: -1, TotalWeight: -1},
		{EventType: "seen", EventCount: 1},
	}
	same(t, want, r.GetUser().GetEventTypes(), "the types of events")
}
