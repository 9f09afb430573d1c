package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/state"
)

// bits is a state to the last bit: revision, pending events, x̂, Z and P.
func (ts *testServer) bits(t *testing.T, user string) (bits []uint64) {
	t.Helper()
	m := ts.arms.Main().Models.Acquire()
	defer m.Release()
	err := ts.states.View(ctx(t), m.Model, user, func(u *state.User) {
		if bits = nil; u == nil {
			return
		}
		bits = []uint64{u.Revision, u.Pending, uint64(u.First.UnixNano()), uint64(u.Last.UnixNano())}
		for _, v := range [][]float32{u.Kalman.X, u.Kalman.Z, u.Kalman.P} {
			for _, x := range v {
				bits = append(bits, uint64(math.Float32bits(x)))
			}
			bits = append(bits, 1<<40)
		}
	})
	must(t, err)
	return bits
}

// wantSameUser checks that a user of a server is, to the last bit, the user that another server
// knows: state, summary, events and lists.
func (ts *testServer) wantSameUser(t *testing.T, clean *testServer, user, when string) {
	t.Helper()
	// A difference takes much longer to make than a comparison.
	if want, got := clean.bits(t, user), ts.bits(t, user); !slices.Equal(want, got) {
		t.Fatalf("%s: the state differs (-want +got):\n%s", when, cmp.Diff(want, got))
	}
	request := forUser(user)
	request.PageSize = testItems
	if want, got := clean.ask(t, request), ts.ask(t, request); !proto.Equal(want, got) {
		t.Fatalf("%s: the list differs (-want +got):\n%s", when,
			cmp.Diff(want, got, protocmp.Transform()))
	}
	exports := [2][]*pb.ExportUserResponse{}
	for i, s := range []*testServer{clean, ts} {
		all, err := s.exported(t, user, func(int) {})
		if p := problemOf(t, err); p.Code != codes.OK && p.Code != codes.NotFound {
			t.Fatalf("%s: %v", when, err)
		}
		exports[i] = all
	}
	if !slices.EqualFunc(exports[0], exports[1],
		func(a, b *pb.ExportUserResponse) bool { return proto.Equal(a, b) }) {
		t.Fatalf("%s: the export differs (-want +got):\n%s", when,
			cmp.Diff(exports[0], exports[1], protocmp.Transform()))
	}
}

// randomEvent draws an event, on an unknown item at times, with a time of its own.
func randomEvent(rng *rand.Rand, user string, i int) *pb.Event {
	value := float64(rng.IntN(9)-3) / 2
	e := &pb.Event{EventId: fmt.Sprint("e", i), UserId: user, ItemId: item(rng.IntN(testItems)),
		EventType: []string{"like", "view", "dislike"}[rng.IntN(3)], Value: &value,
		EventTime: timestamppb.New(testNow.Add(-time.Duration(rng.IntN(1e6)) * time.Second))}
	if rng.IntN(8) == 0 {
		e.ItemId = fmt.Sprint("unknown-", rng.IntN(3))
	}
	return e
}

// rewriteSetups are models of all kinds of states.
func rewriteSetups(t *testing.T) map[string]setup {
	config := func(c *Config) {
		c.EventWeights = event.Weights{"view": 0.25, "dislike": -1}
		c.QualitySample = 1
	}
	return map[string]setup{
		"paper": {config: config}, "learned": {config: config, open: named(t, "learned")},
	}
}

// retract takes events back and returns how many there were.
func (ts *testServer) retract(
	t *testing.T, req *pb.RetractEventsRequest,
) *pb.RetractEventsResponse {
	t.Helper()
	return reply(t, ts.users.RetractEvents, req)
}

// Random histories with retractions, at either of two servers over one store, are at every moment
// those of a server that never had the retracted events.
func TestRetractionsAreExact(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	for name, su := range rewriteSetups(t) {
		t.Run(name, func(t *testing.T) {
			twoServersOf(t, su, func(t *testing.T, servers [2]*testServer) {
				for seed := range soak.Times(3) {
					clean := start(t, su)
					retractAtRandom(t, rand.New(rand.NewPCG(uint64(seed), 5)), fmt.Sprint("user-", seed),
						servers, clean)
					clean.shutdown(t)
				}
			})
		})
	}
}

func retractAtRandom(
	t *testing.T, rng *rand.Rand, user string, servers [2]*testServer, clean *testServer,
) {
	var live []*pb.Event // what the clean server has been sent, in order
	for step := range 25 {
		ts := servers[rng.IntN(2)]
		for i := range 1 + rng.IntN(6) {
			e := randomEvent(rng, user, 100*step+i)
			ts.observe(t, e)
			live = append(live, e)
		}
		servers[rng.IntN(2)].bits(t, user) // it is cached there
		req := &pb.RetractEventsRequest{UserId: user}
		if rng.IntN(2) == 0 {
			req.ItemIds = []string{live[rng.IntN(len(live))].GetItemId(), item(0)}
		}
		for range rng.IntN(5) {
			req.EventIds = append(req.EventIds, live[rng.IntN(len(live))].GetEventId())
		}
		req.EventIds = append(req.EventIds, "not there")
		before := len(live)
		live = slices.DeleteFunc(live, func(e *pb.Event) bool {
			return slices.Contains(req.GetEventIds(), e.GetEventId()) ||
				slices.Contains(req.GetItemIds(), e.GetItemId())
		})
		for range 2 { // the second time for nothing
			r := ts.retract(t, req)
			if int(r.GetRetractedEventCount()) != before-len(live) ||
				int(r.GetUserRevision()) != len(live) {
				t.Fatalf("step %d: %v, want %d of %d events retracted", step, r,
					before-len(live), before)
			}
			before = len(live)
		}
		if len(live) == 0 {
			live = append(live, randomEvent(rng, user, 100*step+99))
			ts.observe(t, live[0])
		}
		reply(t, clean.users.DeleteUser, &pb.DeleteUserRequest{UserId: user, AllowMissing: true})
		for _, e := range live {
			clean.observe(t, e)
		}
		for i, ts := range servers {
			ts.wantSameUser(t, clean, user, fmt.Sprintf("%s, step %d, server %d", user, step, i))
		}
	}
	same(t, 0.0, value1(t, servers[0], "gsimc_panics_total"), "panics")
}

// A merged history is that of a user who has sent all events in the order of time, unless all that
// is merged is there already.
func TestMergesAreExact(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	for name, su := range rewriteSetups(t) {
		t.Run(name, func(t *testing.T) {
			twoServersOf(t, su, func(t *testing.T, servers [2]*testServer) {
				for seed := range soak.Times(5) {
					clean := start(t, su)
					mergeAtRandom(t, rand.New(rand.NewPCG(uint64(seed), 6)), seed, servers, clean)
					clean.shutdown(t)
				}
			})
		})
	}
}

func mergeAtRandom(
	t *testing.T, rng *rand.Rand, seed int, servers [2]*testServer, clean *testServer,
) {
	guest, account := fmt.Sprint("guest-", seed), fmt.Sprint("account-", seed)
	var all []*pb.Event
	for i := range rng.IntN(30) {
		e := randomEvent(rng, account, i)
		servers[i%2].observe(t, e)
		all = append(all, e)
	}
	own, twins, clashes := len(all), 0, 0
	n := 1 + rng.IntN(30)
	for i := range n {
		e := randomEvent(rng, guest, 1000+i)
		switch free := own - twins - clashes; { // each id of the account comes at most once more
		case free > 0 && rng.IntN(6) == 0: // sent for both
			e = proto.Clone(all[twins]).(*pb.Event)
			e.UserId = guest
			twins++
		case free > 0 && rng.IntN(6) == 0: // another event under an id that is taken
			e.EventId = all[own-1-clashes].GetEventId()
			clashes++
		}
		servers[i%2].observe(t, e)
		moved := proto.Clone(e).(*pb.Event)
		moved.UserId = account
		if !slices.ContainsFunc(all[:own], func(a *pb.Event) bool { return proto.Equal(a, moved) }) {
			all = append(all, moved)
		}
	}
	for i := range servers {
		servers[i].bits(t, guest)
		servers[i].bits(t, account)
	}
	had := len(all) - own
	if had > 0 { // a history that gets nothing stays as it is
		slices.SortStableFunc(all, func(a, b *pb.Event) int {
			return a.GetEventTime().AsTime().Compare(b.GetEventTime().AsTime())
		})
	}
	for again := range 2 {
		r, err := servers[1].users.MergeUsers(ctx(t),
			&pb.MergeUsersRequest{SourceUserId: guest, TargetUserId: account})
		if err != nil || int(r.GetMergedEventCount()) != had ||
			int(r.GetUserRevision()) != len(all) || len(r.GetSessionToken()) == 0 {
			t.Fatalf("merge %d: %v, %v, want %d events merged into %d", again, r, err, had, len(all))
		}
		had = 0
		for _, s := range servers {
			if got := s.bits(t, guest); got != nil {
				t.Errorf("the source has a state: %v", got)
			}
		}
	}
	got := servers[0].pages(t, account, func() int32 { return 1000 }, func() {})
	slices.Reverse(got)
	ids := map[string]bool{}
	for i, e := range got {
		want := proto.Clone(all[i]).(*pb.Event)
		id := e.GetEvent().GetEventId()
		if ids[id] {
			t.Errorf("the id %s is there twice", id)
		}
		ids[id], want.EventId = true, id
		same(t, want, e.GetEvent(), "event %d", i)
		clean.observe(t, want)
	}
	for i, ts := range servers {
		ts.wantSameUser(t, clean, account, fmt.Sprintf("seed %d, server %d", seed, i))
	}
}

// Late repetitions of a guest's events, as of a queue, are merged once.
func TestMergeOfLateEvents(t *testing.T) {
	ts := start(t, setup{})
	ts.written(t, "account", 3) // e0, e1, e2
	clash := withID("e1", "guest", 7)
	merge := func() *pb.MergeUsersResponse {
		return reply(t, ts.users.MergeUsers,
			&pb.MergeUsersRequest{SourceUserId: "guest", TargetUserId: "account"})
	}
	for late, want := range []*pb.MergeUsersResponse{
		{MergedEventCount: 2, UserRevision: 5},
		{RepeatedEventCount: 2, UserRevision: 5},
		{RepeatedEventCount: 2, UserRevision: 5},
	} {
		ts.observe(t, clash)
		ts.observe(t, withID("new", "guest", 8))
		if d := cmp.Diff(want, merge(), protocmp.Transform(),
			protocmp.IgnoreFields(want, "session_token")); d != "" {
			t.Errorf("merge %d (-want +got):\n%s", late, d)
		}
	}
	r := merge()
	if d := cmp.Diff(&pb.MergeUsersResponse{UserRevision: 5}, r, protocmp.Transform(),
		protocmp.IgnoreFields(r, "session_token")); d != "" {
		t.Errorf("without events (-want +got):\n%s", d)
	}
	nobody, err := ts.users.MergeUsers(ctx(t),
		&pb.MergeUsersRequest{SourceUserId: "x", TargetUserId: "y"})
	if d := cmp.Diff(&pb.MergeUsersResponse{}, nobody, protocmp.Transform()); err != nil || d != "" {
		t.Errorf("of nobody: %v (-want +got):\n%s", err, d)
	}
}

// Tokens and ids of before a retraction: what a client sees that knows nothing of it.
func TestRetractionAndWhatClientsKeep(t *testing.T) {
	t.Parallel()
	twoServers(t, func(t *testing.T, servers [2]*testServer) {
		a, b := servers[0], servers[1]
		a.written(t, "ann", 5)
		old := a.observe(t, withID("last", "ann", 9)).GetSessionToken()
		listed := reply(t, b.users.ListUserEvents,
			&pb.ListUserEventsRequest{UserId: "ann", PageSize: 2})
		req := &pb.RetractEventsRequest{UserId: "ann", EventIds: []string{"e1", "e3"}}
		r := a.retract(t, req)
		lost := problem{Code: codes.DataLoss, Reason: "SESSION_LOST"}
		if !b.store.Identity().Lags { // otherwise the call waits for a later copy of the store
			b.refusedToken(t, "of before the retraction", "ann", old, lost)
		}
		changed := problem{Code: codes.FailedPrecondition, Reason: "HISTORY_CHANGED"}
		same(t, changed, b.listProblem(t, "ann", listed.GetNextPageToken()), "the next page")
		if got := b.ask(t, withToken("ann", r.GetSessionToken())); got.GetUserRevision() != 4 {
			t.Errorf("a list with the new token is of revision %d, want 4", got.GetUserRevision())
		}
		again := a.retract(t, req)
		if again.GetRetractedEventCount() != 0 || again.GetUserRevision() != 4 ||
			!slices.Equal(again.GetSessionToken(), r.GetSessionToken()) {
			t.Errorf("the second retraction: %v, want nothing done", again)
		}
		// a repetition of what is there, of what was retracted, and the retraction behind it
		if got := b.observe(t, withID("last", "ann", 9)); got.GetUserRevision() != 4 ||
			got.GetDisposition() != pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE {
			t.Errorf("an event that is there, again: %v", got)
		}
		if got := b.observe(t, withID("e1", "ann", 11)); got.GetUserRevision() != 5 ||
			got.GetDisposition() != pb.EventDisposition_EVENT_DISPOSITION_APPLIED {
			t.Errorf("a retracted id: %v, want it applied", got)
		}
		if got := b.retract(t, req); got.GetRetractedEventCount() != 1 || got.GetUserRevision() != 4 {
			t.Errorf("the retraction behind it: %v", got)
		}
		none := a.retract(t, &pb.RetractEventsRequest{UserId: "ann",
			EventIds: []string{"e0", "e2", "e4", "last"}})
		same(t, &pb.RetractEventsResponse{RetractedEventCount: 4}, none, "all of them")
		if _, err := b.users.GetUser(ctx(t), &pb.GetUserRequest{UserId: "ann"}); problemOf(t,
			err).Code != codes.NotFound {
			t.Errorf("a user without events: %v, want NOT_FOUND", err)
		}
	})
}

// A user whose events were retracted is no evidence for the item any more, and one who got them is.
func TestRewritesAndNewItems(t *testing.T) {
	ts := start(t, setup{config: extending})
	ts.showNovelty(t, 2)
	ts.awaitExtension(t, knows(novelty))
	ts.retract(t, &pb.RetractEventsRequest{UserId: "u0", ItemIds: []string{novelty}})
	ts.awaitExtension(t, func(m *model.Model) bool { return !knows(novelty)(m) })
	ts.observe(t, &pb.Event{UserId: "guest", ItemId: novelty})
	ts.awaitExtension(t, knows(novelty))
	reply(t, ts.users.MergeUsers, &pb.MergeUsersRequest{SourceUserId: "guest", TargetUserId: "u1"})
	ts.awaitExtension(t, func(m *model.Model) bool { return !knows(novelty)(m) }) // u1 has it, alone
	ts.observe(t, &pb.Event{UserId: "u0", ItemId: novelty})
	ts.awaitExtension(t, knows(novelty))
	ts.retract(t, &pb.RetractEventsRequest{UserId: "u1", ItemIds: []string{item(0)}})
	same(t, 0.0, value1(t, ts, "gsimc_extension_failures_total"), "failed extensions")
}

// Rewrites have a bound, and so has the history.
func TestRewritesAreBounded(t *testing.T) {
	ts := start(t, setup{bounds: func(b *bounds) { b.users.RewriteHistory = 5 }})
	ts.written(t, "ann", 5)
	ts.written(t, "bob", 1)
	for range cap(ts.bounds.users.Rewrites) {
		ts.bounds.users.Rewrites <- struct{}{}
	}
	_, err := ts.users.RetractEvents(ctx(t),
		&pb.RetractEventsRequest{UserId: "ann", EventIds: []string{"e1"}})
	want := problem{Code: codes.ResourceExhausted, Reason: "OVERLOADED", Retry: true}
	same(t, want, problemOf(t, err), "one rewrite more")
	for range cap(ts.bounds.users.Rewrites) {
		<-ts.bounds.users.Rewrites
	}
	_, err = ts.users.MergeUsers(ctx(t),
		&pb.MergeUsersRequest{SourceUserId: "ann", TargetUserId: "bob"})
	want = problem{Code: codes.FailedPrecondition, Reason: "HISTORY_TOO_LONG"}
	same(t, want, problemOf(t, err), "six events")
	if r := ts.retract(t, &pb.RetractEventsRequest{UserId: "ann",
		EventIds: []string{"e1"}}); r.GetUserRevision() != 4 {
		t.Errorf("after all: %v", r)
	}
}
