package server

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

// TestNewUsersHaveAQuota: beyond the quota nobody begins a history, on any way in, and all who have
// one go on.
func TestNewUsersHaveAQuota(t *testing.T) {
	const quota = 5
	ts := start(t, setup{config: func(c *Config) { c.MaxNewUsers = quota }})
	for i := range quota {
		for n := range 3 { // events of the same user count once
			ts.observe(t, newEvent(fmt.Sprint("user", i), n))
		}
	}
	refused := problem{Code: codes.ResourceExhausted, Reason: "TOO_MANY_NEW_USERS", Retry: true}
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("one too many", 1)})
	same(t, refused, problemOf(t, err), "Observe")
	batch := reply(t, ts.events.BatchObserve, &pb.BatchObserveRequest{Events: []*pb.Event{
		newEvent("one too many", 1), newEvent("user1", 9), newEvent("another", 1)}})
	for i, want := range []codes.Code{codes.ResourceExhausted, codes.OK, codes.ResourceExhausted} {
		same(t, want, codes.Code(batch.GetResults()[i].GetError().GetCode()),
			"event %d of the batch", i)
	}
	same(t, uint64(4), batch.GetResults()[1].GetUserRevision(),
		"the event between the refused ones has revision")
	s := openStream(t, ts)
	s.send(t, 1, newEvent("one too many", 1))
	same(t, 1, len(check.Get(s.Recv())(t).GetExceptions()), "exceptions of the stream")
	check.Same(t, uint64(0), ts.ask(t, forUser("one too many")).GetUserRevision(),
		"revision of a refused user")
}

// TestNewUsersOfATokenHaveAQuota: beyond the limit of its line a token begins no history, on any
// way in. Users with a history and other tokens go on, until there are too many of all.
func TestNewUsersOfATokenHaveAQuota(t *testing.T) {
	tokens, lines := map[string]string{}, ""
	for name, limit := range map[string]string{"feed": " new-users=2", "batch": " new-users=2",
		"stream": " new-users=2", "free": ""} {
		token, line, err := NewToken(name, "observe")
		must(t, err)
		tokens[name], lines = token, lines+line+limit+"\n"
	}
	path := certtest.Write(t, t.TempDir(), "tokens", []byte(lines))
	ts := start(t, setup{config: func(c *Config) { c.TokenFile, c.MaxNewUsers = path, 8 }})
	observe := func(token, user string, n int) codes.Code {
		_, err := ts.events.Observe(bearing(ctx(t), tokens[token]),
			&pb.ObserveRequest{Event: newEvent(user, n)})
		if err != nil {
			same(t, problem{Code: codes.ResourceExhausted, Reason: "TOO_MANY_NEW_USERS", Retry: true},
				problemOf(t, err), "the event of %s", user)
			limit := "new-users=N"
			if token == "free" {
				limit = "--max-new-users"
			}
			check.Says(t, err, limit, "the limit of %s", token)
		}
		return status.Code(err)
	}
	for i, want := range []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted} {
		same(t, want, observe("feed", fmt.Sprint("new", i), 1), "new user %d of the token", i)
	}
	same(t, codes.OK, observe("feed", "new1", 2), "a user with a history")
	same(t, codes.OK, observe("free", "new2", 1), "the user by another token")
	same(t, codes.OK, observe("feed", "new2", 2), "the user, who has a history now")

	made := []*pb.Event{newEvent("a", 1), newEvent("new0", 3), newEvent("b", 1), newEvent("c", 1)}
	batch := check.Get(ts.events.BatchObserve(bearing(ctx(t), tokens["batch"]),
		&pb.BatchObserveRequest{Events: made}))(t)
	for i, want := range []codes.Code{codes.OK, codes.OK, codes.OK, codes.ResourceExhausted} {
		same(t, want, codes.Code(batch.GetResults()[i].GetError().GetCode()),
			"event %d of the batch", i)
	}
	s := check.Get(ts.events.StreamObserve(bearing(ctx(t), tokens["stream"])))(t)
	for i, want := range []int{0, 0, 1} {
		must(t, s.Send(&pb.StreamObserveRequest{Sequence: uint64(i + 1),
			Event: newEvent(fmt.Sprint("streamed", i), 1)}))
		same(t, want, len(check.Get(s.Recv())(t).GetExceptions()), "exceptions of event %d", i)
	}
	began := 0 // besides the seven before, and those of the seconds that this takes
	for observe("free", fmt.Sprint("of all", began), 1) == codes.OK {
		began++
	}
	if began < 1 || began > 4 {
		t.Errorf("%d further users began a history, want one", began)
	}
	same(t, map[string]float64{"server": 1, "token": 3},
		ts.counters(t, "gsimc_new_users_refused_total"), "refused events by their limit")
}

// TestNewUsersInOneCall: of the users whom one call brings, as many begin a history as may, and the
// quota of later minutes stays.
func TestNewUsersInOneCall(t *testing.T) {
	const quota = 5
	ts := start(t, setup{config: func(c *Config) { c.MaxNewUsers = quota }})
	var made []*pb.Event
	for i := range 100 {
		for n := range 2 {
			made = append(made, newEvent(fmt.Sprint("made up", i), n))
		}
	}
	batch := reply(t, ts.events.BatchObserve, &pb.BatchObserveRequest{Events: made})
	for i, r := range batch.GetResults() {
		want := codes.OK
		if i >= 2*quota {
			want = codes.ResourceExhausted
		}
		same(t, want, codes.Code(r.GetError().GetCode()), "event %d", i)
	}
	if left := ts.newUsers.Quota.Tokens(); left < 0 {
		t.Errorf("%v users are left of the quota", left)
	}
	many := make([]store.Result, 100*quota)
	for i := range many {
		many[i].Revision = 1
	}
	ts.newUsers.Of(ctx(t)).Count(many) // of calls at the same time
	if left := ts.newUsers.Quota.Tokens(); left < -quota-1 {
		t.Errorf("%v users are left of the quota, want at least one minute's less", left)
	}
}

// TestQuotaComesBack: the quota is that of any minute.
func TestQuotaComesBack(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.MaxNewUsers = 6000 }}) // one in 10 ms
	ts.newUsers.Quota.ReserveN(time.Now(), 6000)
	ts.newUsers.Quota.ReserveN(time.Now(), 10)
	event := &pb.ObserveRequest{Event: newEvent("late", 1)}
	if _, err := ts.events.Observe(ctx(t), event); err == nil {
		t.Error("a user beyond the quota begins a history")
	}
	eventually(t, "the quota comes back", func() bool {
		_, err := ts.events.Observe(ctx(t), event)
		return err == nil
	})
}
