package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// withToken is a request that demands what a token names.
func withToken(user string, token []byte) *pb.RecommendRequest {
	req := forUser(user)
	req.SessionToken = token
	return req
}

// refusedToken wants the status of a Recommend with a token.
func (ts *testServer) refusedToken(t *testing.T, what, user string, token []byte, want problem) {
	t.Helper()
	_, err := ts.recommend.Recommend(ctx(t), withToken(user, token))
	same(t, want, problemOf(t, err), "%s", what)
}

// TestSessionTokens takes the tokens of all ways to write to another server over the same store.
func TestSessionTokens(t *testing.T) {
	twoServers(t, func(t *testing.T, servers [2]*testServer) {
		a, b := servers[0], servers[1]
		token := a.observe(t, withID("1", "ann", 1)).GetSessionToken()
		check.Same(t, uint64(1), b.ask(t, withToken("ann", token)).GetUserRevision(),
			"revision after Observe")
		batch := reply(t, a.events.BatchObserve, &pb.BatchObserveRequest{Events: []*pb.Event{
			withID("2", "ann", 2), withID("2", "ann", 3), withID("1", "bob", 3),
			withID("1", "ann", 1),
		}})
		for i, want := range []struct {
			user     string
			revision uint64
		}{{"ann", 2}, {}, {"bob", 1}, {"ann", 2}} {
			token := batch.GetResults()[i].GetSessionToken()
			if want.user == "" {
				if len(token) > 0 {
					t.Error("a rejected event has a token")
				}
				continue
			}
			got := b.ask(t, withToken(want.user, token))
			same(t, want.revision, got.GetUserRevision(), "BatchObserve, event %d: revision", i)
		}
		tokens := a.streamTokens(t)
		if got := b.ask(t, withToken("ann", tokens[4])); got.GetUserRevision() != 4 ||
			len(tokens) != 2 || tokens[4] == nil {
			t.Errorf("StreamObserve: revision %d, %d tokens", got.GetUserRevision(), len(tokens))
		}
		b.ask(t, withToken("cid", tokens[2]))
	})
}

// streamTokens sends events of two users by a stream, one message of five with a repeat at its
// end, and returns the tokens.
func (ts *testServer) streamTokens(t *testing.T) map[uint64][]byte {
	t.Helper()
	stream, err := ts.events.StreamObserve(ctx(t))
	must(t, err)
	err = errors.Join(stream.Send(&pb.StreamObserveRequest{Sequence: 1, SessionTokens: true,
		Events: []*pb.Event{withID("s1", "ann", 5), withID("s1", "cid", 5),
			withID("s1", "ann", 6), withID("s2", "ann", 7), withID("s1", "ann", 5)}}),
		stream.CloseSend())
	must(t, err)
	tokens := map[uint64][]byte{}
	for {
		ack, err := stream.Recv()
		if err != nil {
			return tokens
		}
		for _, token := range ack.GetSessionTokens() {
			tokens[token.GetSequence()] = token.GetSessionToken()
		}
	}
}

// TestSessionTokensRefused never gets a list from less than a token demands.
func TestSessionTokensRefused(t *testing.T) {
	malformed := problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD",
		Fields: []string{"session_token"}}
	lost := problem{Code: codes.DataLoss, Reason: "SESSION_LOST"}
	twoServers(t, func(t *testing.T, servers [2]*testServer) {
		a, b := servers[0], servers[1]
		if a.store.Identity().Lags {
			t.Skip("a history of this store may be that of a moment ago: calls wait for a later one")
		}
		a.observe(t, withID("1", "ann", 1))
		token := a.observe(t, withID("2", "ann", 2)).GetSessionToken()
		b.ask(t, withToken("ann", token)) // it is cached there
		b.refusedToken(t, "of another user", "bob", token, malformed)
		damaged := append([]byte(nil), token...)
		damaged[12] ^= 1
		b.refusedToken(t, "damaged", "ann", damaged, malformed)
		b.refusedToken(t, "cut", "ann", token[:20], malformed)
		b.refusedToken(t, "text", "ann", []byte("token"), malformed)

		other := start(t, setup{})
		other.observe(t, withID("1", "ann", 1))
		other.refusedToken(t, "of another store", "ann", token,
			problem{Code: codes.FailedPrecondition, Reason: "OTHER_STORE"})

		reply(t, a.users.DeleteUser, &pb.DeleteUserRequest{UserId: "ann"})
		for events := range 4 { // fewer than before, as many and more
			for i, s := range servers {
				s.refusedToken(t, fmt.Sprintf("server %d, erased, %d events", i, events), "ann",
					token, lost)
			}
			a.observe(t, withID(fmt.Sprint(events), "ann", events))
		}
		check.Same(t, uint64(4), b.ask(t, forUser("ann")).GetUserRevision(),
			"revision without the token")
	})
}

// laggingStore shows the histories of a while ago.
type laggingStore struct {
	store.Store
	shown func(head store.Version) uint64 // revision
}

func (l *laggingStore) Identity() store.Identity {
	id := l.Store.Identity()
	id.Lags = true
	return id
}

func (l *laggingStore) Since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (head store.Version, same bool, err error) {
	latest, _, err := l.Store.Since(ctx, user, known, nil)
	if err != nil {
		return head, false, err
	}
	head = store.Version{Revision: min(l.shown(latest), latest.Revision), Mark: latest.Mark}
	if head.Revision == 0 {
		head.Mark = 0
	}
	same = known.Revision == 0 || known.Mark == latest.Mark && known.Revision <= head.Revision
	after := known.Revision
	if !same {
		after = 0
	}
	if fn == nil {
		return head, same, nil
	}
	_, _, err = l.Store.Since(ctx, user, store.Version{},
		func(v store.Version, e store.Event) error {
			if v.Revision <= after || v.Revision > head.Revision {
				return nil
			}
			return fn(v, e)
		})
	return head, same, err
}

// TestSessionTokensWait asks a server whose copy of the store lags: it waits for what the token
// names.
func TestSessionTokensWait(t *testing.T) {
	shared := memory.New()
	writer := start(t, setup{store: shared})
	asked := 0
	lag := &laggingStore{Store: shared}
	lag.shown = func(store.Version) uint64 { asked++; return uint64(asked / 10) }
	reader := start(t, setup{store: lag})
	var token []byte
	for i := range 3 {
		token = writer.observe(t, withID(fmt.Sprint(i), "ann", i)).GetSessionToken()
	}
	if got := reader.ask(t, withToken("ann", token)); got.GetUserRevision() < 3 {
		t.Errorf("a list of revision %d, want 3", got.GetUserRevision())
	}
}

// TestSessionTokensOfBusyUser asks with a token while the history grows between any two questions
// to the store: what was read has what the token names, and is served.
func TestSessionTokensOfBusyUser(t *testing.T) {
	wrote := 0
	busy := &hookedStore{Store: memory.New()}
	busy.SinceFunc = func(ctx context.Context, user string, known store.Version,
		fn func(store.Version, store.Event) error) (store.Version, bool, error) {
		if fn == nil { // it is asked for the version of the history alone
			wrote++
			appendEvent(t, busy, user, fmt.Sprint("busy-", wrote))
		}
		return busy.Store.Since(ctx, user, known, fn)
	}
	ts := start(t, setup{store: busy})
	token := ts.observe(t, withID("1", "ann", 1)).GetSessionToken()
	ts.observe(t, withID("2", "ann", 2))
	short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	got := check.Get(ts.recommend.Recommend(short, withToken("ann", token)))(t)
	same(t, uint64(2), got.GetUserRevision(), "the list's revision")
	if wrote == 0 {
		t.Error("nothing was written between the questions, so nothing was tested")
	}
}

// formerStore is a copy that may lag: it shows a store of before for some questions.
type formerStore struct {
	store.Store
	former store.Store
	left   atomic.Int64
}

func (f *formerStore) Identity() store.Identity {
	id := f.Store.Identity()
	id.Lags = true
	return id
}

func (f *formerStore) Since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (store.Version, bool, error) {
	if f.left.Add(-1) >= 0 {
		return f.former.Since(ctx, user, known, fn)
	}
	return f.Store.Since(ctx, user, known, fn)
}

// TestSessionTokensWaitForNewLife asks a server whose copy of the store still has the former life
// of an erased user, which is longer than the new one: it waits for the new one.
func TestSessionTokensWaitForNewLife(t *testing.T) {
	before := memory.New()
	for i := range 5 {
		appendEvent(t, before, "ann", fmt.Sprint(i))
	}
	lag := &formerStore{Store: memory.New(), former: before}
	ts := start(t, setup{store: lag})
	token := ts.observe(t, withID("1", "ann", 1)).GetSessionToken()
	lag.left.Store(10)
	check.Same(t, uint64(1), ts.ask(t, withToken("ann", token)).GetUserRevision(),
		"revision of a list")
	if lag.left.Load() > 0 {
		t.Error("the former life was not asked for often enough, so nothing was tested")
	}
}

// TestStaleSessionsInVirtualTime asks with tokens of what a store that may lag does not show in
// time: the newest event, and the former life of an erased user. That is never known to be lost,
// however long the new life is.
func TestStaleSessionsInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := uint64(1)
		v := startVirtual(t, &laggingStore{Store: memory.New(),
			shown: func(store.Version) uint64 { return shown }}, nil)
		events := pb.NewEventServiceClient(v.conn)
		take := func(id string, i int) []byte {
			e := newEvent("ann", i)
			e.EventId = id
			return reply(t, events.Observe, &pb.ObserveRequest{Event: e}).GetSessionToken()
		}
		recommend := pb.NewRecommenderServiceClient(v.conn)
		checkStale := func(what string, token []byte) {
			t.Helper()
			short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := recommend.Recommend(short, withToken("ann", token))
			want := problem{Code: codes.Unavailable, Reason: "STALE_SESSION", Retry: true}
			same(t, want, problemOf(t, err), "%s", what)
		}
		take("1", 1)
		former := take("2", 2)
		checkStale("an event that is not shown", former)
		shown = math.MaxUint64
		reply(t, pb.NewUserServiceClient(v.conn).DeleteUser, &pb.DeleteUserRequest{UserId: "ann"})
		for n := 1; n <= 3; n++ {
			take(fmt.Sprint(n), n)
			checkStale(fmt.Sprintf("%d events of a new life", n), former)
		}
		v.stop()
		v.end(t, time.Now())
	})
}
