package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/users"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

const (
	applied   = pb.EventDisposition_EVENT_DISPOSITION_APPLIED
	duplicate = pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE
	pending   = pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM
	refused   = pb.EventDisposition_EVENT_DISPOSITION_REJECTED
)

// withID is an event with an id of its own.
func withID(id, user string, i int) *pb.Event {
	e := newEvent(user, i)
	e.EventId, e.EventTime = id, timestamppb.New(testNow)
	return e
}

func TestObserveIsIdempotent(t *testing.T) {
	ts := start(t, setup{})
	timeless := withID("c", "ann", 3) // the time of receipt is the server's, not part of the event
	timeless.EventTime = nil
	timed := newEvent("ann", 2)
	timed.EventTime = timestamppb.New(testNow)
	for _, tt := range []struct {
		name  string
		event *pb.Event
		want  *pb.ObserveResponse
	}{
		{"first", withID("a", "ann", 1),
			&pb.ObserveResponse{Disposition: applied, UserRevision: 1}},
		{"second", withID("b", "ann", 1),
			&pb.ObserveResponse{Disposition: applied, UserRevision: 2}},
		{"first again", withID("a", "ann", 1),
			&pb.ObserveResponse{Disposition: duplicate, UserRevision: 1}},
		{"same id of another user", withID("a", "bob", 1),
			&pb.ObserveResponse{Disposition: applied, UserRevision: 1}},
		{"no id, with time", timed, &pb.ObserveResponse{Disposition: applied, UserRevision: 3}},
		{"no id, with time, again", timed,
			&pb.ObserveResponse{Disposition: duplicate, UserRevision: 3}},
		{"no id, no time", newEvent("ann", 2),
			&pb.ObserveResponse{Disposition: applied, UserRevision: 4}},
		{"no id, no time, again: a new event", newEvent("ann", 2),
			&pb.ObserveResponse{Disposition: applied, UserRevision: 5}},
		{"id, no time", timeless, &pb.ObserveResponse{Disposition: applied, UserRevision: 6}},
		{"id, no time, again", timeless,
			&pb.ObserveResponse{Disposition: duplicate, UserRevision: 6}},
	} {
		check.SameBy(t, withoutTokens, tt.want, ts.observe(t, tt.event), "%s", tt.name)
	}
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: withID("a", "ann", 7)})
	same(t, problem{Code: codes.AlreadyExists, Reason: "EVENT_ID_CONFLICT"}, problemOf(t, err),
		"same id, other item")
}

func TestBatchObserve(t *testing.T) {
	ts := start(t, setup{})
	ts.observe(t, withID("old", "ann", 1))
	bad := newEvent("ann", 1)
	bad.Value = proto.Float64(5000)
	resp := reply(t, ts.events.BatchObserve, &pb.BatchObserveRequest{Events: []*pb.Event{
		withID("x", "ann", 2),
		withID("old", "ann", 9), // conflicts with what is stored
		bad,
		withID("old", "ann", 1),
		withID("x", "ann", 3), // conflicts with the first of the batch
		{UserId: "bob", ItemId: "no such item"},
		withID("y", "ann", 4),
		newEvent("cid", 5), newEvent("cid", 5), // without id and time: two events
	}})
	conflict := &pb.EventResult{Disposition: refused,
		Error: statusProto(codes.AlreadyExists, "EVENT_ID_CONFLICT",
			"event_id is in use for another event of this user")}
	want := &pb.BatchObserveResponse{Results: []*pb.EventResult{
		{Disposition: applied, UserRevision: 2},
		conflict,
		{Disposition: refused,
			Error: invalidField("value", "value must be a number from -1000 to 1000")},
		{Disposition: duplicate, UserRevision: 1},
		conflict,
		{Disposition: pending, UserRevision: 1},
		{Disposition: applied, UserRevision: 3},
		{Disposition: applied, UserRevision: 1},
		{Disposition: applied, UserRevision: 2},
	}}
	check.SameBy(t, withoutTokens, want, resp, "results")
	user := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "ann"})
	same(t, uint64(3), user.GetUser().GetRevision(), "ann's revision")
}

// Damage in one user's history rejects the events that meet it, in a batch and in a stream, and no
// others.
func TestDamagedHistory(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	hooked.AppendFunc = func(c context.Context, records []store.Record) ([]store.Result, error) {
		results := make([]store.Result, len(records))
		for i, r := range records {
			if r.User == "damaged" {
				results[i].Err = fmt.Errorf("%w: checksum", store.ErrCorrupt)
				continue
			}
			one, err := hooked.Store.Append(c, []store.Record{r})
			if err != nil {
				return nil, err
			}
			results[i] = one[0]
		}
		return results, nil
	}
	ts := start(t, setup{store: hooked})
	batch := []*pb.Event{newEvent("ann", 1), newEvent("damaged", 1), newEvent("bob", 1),
		newEvent("damaged", 2), newEvent("ann", 2)}
	lost := &pb.EventResult{Disposition: refused,
		Error: statusProto(codes.DataLoss, "STORE_CORRUPT",
			"the stored history of this user is damaged")}
	resp := reply(t, ts.events.BatchObserve, &pb.BatchObserveRequest{Events: batch})
	want := []*pb.EventResult{{Disposition: applied, UserRevision: 1}, lost,
		{Disposition: applied, UserRevision: 1}, lost,
		{Disposition: applied, UserRevision: 2}}
	check.SameBy(t, withoutTokens, want, resp.GetResults(), "batch")
	s := openStream(t, ts)
	for i, e := range batch {
		s.send(t, uint64(i+1), e)
	}
	must(t, s.CloseSend())
	got := s.rest(t)
	exceptions := []*pb.StreamEventResult{{Sequence: 2, Result: lost}, {Sequence: 4, Result: lost}}
	if d := cmp.Diff(exceptions, got.exceptions, withoutTokens); d != "" || got.err != nil ||
		got.acked != 5 {
		t.Errorf("stream acked %d, ended with %v, exceptions (-want +got):\n%s", got.acked, got.err,
			d)
	}
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("damaged", 3)})
	same(t, problem{Code: codes.DataLoss, Reason: "STORE_CORRUPT"}, problemOf(t, err), "single")
	same(t, 4, strings.Count(ts.logs.String(), "history is damaged"), "rejected events in the log")
}

// failingAppend is the Append of a store that fails.
func failingAppend(err error) func(context.Context, []store.Record) ([]store.Result, error) {
	return func(context.Context, []store.Record) ([]store.Result, error) { return nil, err }
}

// failingSince is the Since of a store that fails.
func failingSince(err error) func(context.Context, string, store.Version,
	func(store.Version, store.Event) error) (store.Version, bool, error) {
	return func(context.Context, string, store.Version,
		func(store.Version, store.Event) error) (store.Version, bool, error) {
		return store.Version{}, false, err
	}
}

// A failing store fails the call with the code of its outcome, in all three ways of writing.
func TestStoreFailures(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	// Nothing stays in the cache, so that a Recommend reads the history.
	ts := start(t, setup{store: hooked, config: func(c *Config) { c.StateCacheBytes = 1 }})
	for _, tt := range []struct {
		err  error
		want problem
	}{
		{store.ErrFull, problem{Code: codes.ResourceExhausted, Reason: "STORE_FULL", Retry: true}},
		{store.ErrFailed, problem{Code: codes.Unavailable, Reason: "STORE_FAILED", Retry: true}},
		{store.ErrClosed, problem{Code: codes.Unavailable, Reason: "STORE_CLOSED", Retry: true}},
		{errors.New("user ann: disk on fire"), problem{Code: codes.Internal, Reason: "INTERNAL"}},
	} {
		hooked.AppendFunc = failingAppend(tt.err)
		_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("ann", 1)})
		_, errBatch := ts.events.BatchObserve(ctx(t),
			&pb.BatchObserveRequest{Events: []*pb.Event{newEvent("ann", 1)}})
		s := openStream(t, ts)
		s.send(t, 1, newEvent("ann", 1))
		_, errStream := s.Recv()
		for name, err := range map[string]error{"Observe": err, "BatchObserve": errBatch,
			"StreamObserve": errStream} {
			same(t, tt.want, problemOf(t, err), "%s, store says %q", name, tt.err)
		}
	}
	// An event that only the store refuses shows a hole in the validation of requests: that has to
	// be in the log.
	hooked.AppendFunc = failingAppend(
		fmt.Errorf("%w: a rule that only the store has", store.ErrInvalid))
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("ann", 1)})
	same(t, codes.InvalidArgument, problemOf(t, err).Code, "refused by the store")
	check.Has(t, ts.logs.String(), "a rule that only the store has",
		"log of an event that the store refused")
	hooked.AppendFunc = nil
	hooked.SinceFunc = failingSince(store.ErrCorrupt)
	ts.observe(t, newEvent("ann", 1))
	_, err = ts.recommend.Recommend(ctx(t), forUser("ann"))
	same(t, problem{Code: codes.DataLoss, Reason: "STORE_CORRUPT"}, problemOf(t, err),
		"damaged history")
	hooked.SinceFunc = nil
	ts.ask(t, forUser("ann"))
}

// The types of a history are counted within bounds, however many a client has made up.
func TestEventTypesAreBounded(t *testing.T) {
	st := memory.New()
	var records []store.Record
	for i := range users.MaxCountedTypes + 5 {
		of := fmt.Sprint("t", i)
		switch {
		case i == users.MaxCountedTypes+4:
			of = "t7" // one that is counted
		case i >= users.MaxCountedTypes:
			of = "late"
		}
		records = append(records, store.Record{User: "ann", Event: store.Event{ID: fmt.Sprint(i),
			Item: item(1), Type: of, Time: testNow, Value: 1}})
	}
	check.Get(st.Append(t.Context(), records))(t)
	ts := start(t, setup{store: st})
	r := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "ann"})
	got := r.GetUser().GetEventTypes()
	if len(got) != users.MaxEventTypes || got[0].GetEventType() != "t7" ||
		got[0].GetEventCount() != 2 {
		t.Errorf("%d types, the first %v, want %d and t7 twice", len(got), got[0], users.MaxEventTypes)
	}
}

func TestUsers(t *testing.T) {
	ts := start(t, setup{})
	first, last := newEvent("ann", 1), newEvent("ann", 2)
	first.EventTime = timestamppb.New(testNow.Add(-1500))
	last.EventTime = timestamppb.New(testNow.Add(3500))
	ts.observe(t, last)
	ts.observe(t, first)
	ts.observe(t, &pb.Event{UserId: "ann", ItemId: "unknown", EventTime: timestamppb.New(testNow)})

	resp := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "ann"})
	u := resp.GetUser()
	want := &pb.User{UserId: "ann", Revision: 3, EventCount: 3, PendingEventCount: 1,
		FirstEventTime: first.EventTime, LastEventTime: last.EventTime,
		EventTypes: []*pb.EventTypeSummary{
			{EventType: "like", EventCount: 3, Weight: 1, TotalWeight: 3}}}
	check.SameBy(t, withoutTokens, want, u, "user")

	deleted := reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: "ann"})
	same(t, int64(3), deleted.GetDeletedEventCount(), "erased events")
	notFound := problem{Code: codes.NotFound, Reason: "USER_NOT_FOUND"}
	_, err := ts.users.GetUser(ctx(t), &pb.GetUserRequest{UserId: "ann"})
	same(t, notFound, problemOf(t, err), "GetUser of an erased user")
	_, err = ts.users.DeleteUser(ctx(t), &pb.DeleteUserRequest{UserId: "ann"})
	same(t, notFound, problemOf(t, err), "DeleteUser of an erased user")
	if _, err = ts.users.DeleteUser(ctx(t),
		&pb.DeleteUserRequest{UserId: "ann", AllowMissing: true}); err != nil {
		t.Errorf("DeleteUser with allow_missing: %v", err)
	}
	if got := ts.ask(t, forUser("ann")); got.GetUserRevision() != 0 ||
		got.GetDegradations()[0] != pb.Degradation_DEGRADATION_UNKNOWN_USER {
		t.Errorf("an erased user is not unknown: %v", got)
	}
	if got := ts.observe(t, first); got.GetUserRevision() != 1 || got.GetDisposition() != applied {
		t.Errorf("an erased user begins with %v", got)
	}
}

// The repeat of an applied event is one, although the clock was set back meanwhile and the event
// lies too far ahead now. A new event there is refused, and so is another one with the same id.
func TestRepeatsAfterTheClockWentBack(t *testing.T) {
	var back atomic.Int64
	ts, client := startJSON(t, setup{config: func(c *Config) {
		now := c.Now
		c.Now = func() time.Time { return now().Add(time.Duration(back.Load())) }
	}})
	timed := func(e *pb.Event) *pb.Event {
		e.EventTime = timestamppb.New(testNow.Add(23 * time.Hour))
		return e
	}
	first, second := timed(withID("a", "ann", 1)), timed(newEvent("ann", 2))
	token := ts.observe(t, first).GetSessionToken()
	ts.observe(t, second)
	back.Store(-int64(48 * time.Hour))

	want := &pb.ObserveResponse{Disposition: duplicate, UserRevision: 1, SessionToken: token}
	same(t, want, ts.observe(t, first), "the repeat")
	another, unknown := timed(withID("a", "ann", 3)), timed(withID("c", "ann", 3))
	stranger := timed(withID("a", "nobody", 1))
	future := "event_time is more than 24 hours in the future"
	for _, e := range []*pb.Event{another, unknown, stranger} {
		_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: e})
		same(t, problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD",
			Fields: []string{"event.event_time"}}, problemOf(t, err), "a new one")
	}

	malformed := timed(withID("a", "ann", 1))
	malformed.Value = proto.Float64(5000)
	sent := []*pb.Event{second, unknown, withID("now", "ann", 4), first, another, first, stranger,
		malformed}
	sent[2].EventTime = nil
	results := []*pb.EventResult{{Disposition: duplicate, UserRevision: 2},
		{Disposition: refused, Error: invalidField("event_time", future)},
		{Disposition: applied, UserRevision: 3}, {Disposition: duplicate, UserRevision: 1},
		{Disposition: refused, Error: invalidField("event_time", future)},
		{Disposition: duplicate, UserRevision: 1},
		{Disposition: refused, Error: invalidField("event_time", future)}}
	batch := reply(t, ts.events.BatchObserve, &pb.BatchObserveRequest{Events: sent}).GetResults()
	last := batch[7]
	if d := cmp.Diff(results, batch[:7], withoutTokens); d != "" ||
		last.GetDisposition() != refused {
		t.Errorf("the last: %v; a batch (-want +got):\n%s", last, d)
	}
	same(t, token, batch[5].GetSessionToken(), "the token of a repeat in a batch")
	s := openStream(t, ts)
	s.send(t, 1, first)
	s.send(t, 2, unknown)
	must(t, s.CloseSend())
	same(t, []*pb.StreamEventResult{{Sequence: 1, Result: results[3]},
		{Sequence: 2, Result: results[1]}}, s.rest(t).exceptions, "a stream")

	body := `{"userId": "ann", "itemId": "` + first.GetItemId() + `", "eventTime": "` +
		first.GetEventTime().AsTime().Format(time.RFC3339Nano) + `", "eventId": "`
	if code, text := client.do("POST", "/v1/events", body+`a"}`); code != 200 ||
		!strings.Contains(text, "DISPOSITION_DUPLICATE") {
		t.Errorf("a repeat as JSON: %d %s", code, text)
	}
	client.refused("POST", "/v1/events", body+`c"}`, 400, "INVALID_FIELD")
}

// TestRepeatsAreSoughtForSomeUsers: a batch of many users whose events lie too far ahead does not
// read all of their histories, and leaves open what it has not looked up. Of short histories it
// reads more than of long ones.
func TestRepeatsAreSoughtForSomeUsers(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	ts := start(t, setup{store: hooked})
	reads, length := 0, 0
	hooked.SinceFunc = func(_ context.Context, _ string, _ store.Version,
		each func(store.Version, store.Event) error) (store.Version, bool, error) {
		reads++
		for range length {
			must(t, each(store.Version{}, store.Event{ID: "other"}))
		}
		return store.Version{}, false, nil
	}
	req := &pb.BatchObserveRequest{}
	for i := range 600 {
		e := withID("a", fmt.Sprint("user-", i), 1)
		e.EventTime = timestamppb.New(testNow.Add(48 * time.Hour))
		req.Events = append(req.Events, e)
	}
	for events, want := range map[int]int{0: 512, 480: 32, 20_000: 1} {
		reads, length = 0, events
		got := map[string]int{}
		for _, r := range reply(t, ts.events.BatchObserve, req).GetResults() {
			got[codes.Code(r.GetError().GetCode()).String()+": "+r.GetError().GetMessage()]++
		}
		const ahead = "event_time is more than 24 hours in the future"
		same(t, map[string]int{"InvalidArgument: " + ahead: want, "Unavailable: " + ahead + ", as in many " +
			"events of this call, and whether this one was taken before was not looked up": 600 - want},
			got, "results")
		same(t, want, reads, "histories read")
	}
}

// Where the history cannot be read, the repeat of an event too far ahead is not refused as
// certainly not applied.
func TestRepeatsThatCannotBeFound(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	ts := start(t, setup{store: hooked})
	e := withID("a", "ann", 1)
	e.EventTime = timestamppb.New(testNow.Add(48 * time.Hour))
	for _, tt := range []struct {
		err  error
		want problem
	}{
		{store.ErrCorrupt, problem{Code: codes.DataLoss, Reason: "STORE_CORRUPT"}},
		{store.ErrUnavailable, problem{Code: codes.Unavailable, Reason: "STORE_UNAVAILABLE"}},
	} {
		hooked.SinceFunc = failingSince(tt.err)
		_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: e})
		got := problemOf(t, err)
		same(t, []any{tt.want.Code, tt.want.Reason}, []any{got.Code, got.Reason}, "Observe")
	}
}
