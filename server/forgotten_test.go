package server

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/users"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// forgettingStore is a store in memory whose erased users stay in files until told.
type forgettingStore struct {
	store.Store
	forgotten chan struct{}
}

func newForgettingStore() *forgettingStore {
	return &forgettingStore{Store: memory.New(), forgotten: make(chan struct{})}
}

func (s *forgettingStore) Forgotten(ctx context.Context) error {
	select {
	case <-s.forgotten:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// erase erases a user and waits until nothing of her is in files.
func erase(ctx context.Context, ts *testServer, user string) (int64, error) {
	r, err := ts.users.DeleteUser(ctx,
		&pb.DeleteUserRequest{UserId: user, AllowMissing: true, WaitForErasure: true})
	return r.GetDeletedEventCount(), err
}

// A call with wait_for_erasure is answered when the store has forgotten the user. One that ends
// before says that the user is erased, and its repetition waits on.
func TestWaitForErasure(t *testing.T) {
	st := newForgettingStore()
	ts := start(t, setup{store: st})
	ts.observe(t, newEvent("ann", 1))
	ts.observe(t, newEvent("ann", 2))
	want := problem{Code: codes.DeadlineExceeded, Reason: "ERASURE_PENDING", Retry: true}
	var got problem
	// The answer comes just before the deadline, on a busy machine not always.
	for long := 500 * time.Millisecond; got.Reason != want.Reason && long < 20*time.Second; long *= 2 {
		short, cancel := context.WithTimeout(ctx(t), long)
		_, err := erase(short, ts, "ann")
		cancel()
		got = problemOf(t, err)
	}
	same(t, want, got, "the bytes are in files at the deadline")
	if _, err := ts.users.GetUser(ctx(t), &pb.GetUserRequest{UserId: "ann"}); problemOf(t,
		err).Code != codes.NotFound {
		t.Errorf("GetUser while the bytes are in files: %v, want NOT_FOUND", err)
	}
	answered := make(chan error)
	go func() {
		_, err := erase(ctx(t), ts, "ann")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("the call was answered (%v) while the bytes are in files", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(st.forgotten)
	must(t, <-answered)
}

// The record of a deletion says when the history was gone and when its bytes were, and the log has it
// without the id of the user.
func TestDeletionRecord(t *testing.T) {
	st := newForgettingStore()
	close(st.forgotten)
	ts := start(t, setup{store: st, config: func(c *Config) {
		c.Now = func() time.Time { return testNow }
	}})
	del := func(wait bool) *pb.DeleteUserResponse {
		t.Helper()
		return reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: "the-name-of-ann",
			AllowMissing: true, WaitForErasure: wait})
	}
	same(t, &pb.DeleteUserResponse{}, del(false), "nothing to delete")
	ts.observe(t, newEvent("the-name-of-ann", 1))
	kept := del(true)
	want := &pb.DeleteUserResponse{DeletedEventCount: 1, ErasureId: kept.GetErasureId(),
		DeleteTime: timestamppb.New(testNow), EraseTime: timestamppb.New(testNow)}
	same(t, want, kept, "record")
	logs := ts.logs.String()
	if n := strings.Count(logs, kept.GetErasureId()); n != 2 || len(kept.GetErasureId()) < 20 {
		t.Errorf("%d lines of the log have the id %q, want 2:\n%s", n, kept.GetErasureId(), logs)
	}
	check.Lacks(t, logs, "the-name-of-ann", "the log, which may have no id of a user")
}

// Calls that wait take no room of others, and have a bound of their own; a shutdown ends them.
func TestErasureWaitsAreBounded(t *testing.T) {
	st := newForgettingStore()
	ts := start(t, setup{store: st, config: func(c *Config) {
		c.MaxInFlight, c.MaxStreams = 1, 1 // a call that waited in its class would keep others out
		// of the one connection of this test
		c.MaxConcurrentStreams = 2 * uint32(cap(users.Usual().ErasureWaits))
	}})
	waits := ts.bounds.users.ErasureWaits
	var calls sync.WaitGroup
	// One after the other: of many at once, the class would refuse some, and end one whose message
	// is slow.
	for i := range cap(waits) {
		calls.Go(func() {
			_, err := erase(ctx(t), ts, "nobody")
			check.Same(t, codes.Unavailable, problemOf(t, err).Code,
				"a call that waited at the shutdown")
		})
		eventually(t, "the call waits", func() bool { return len(waits) == i+1 })
	}
	ts.observe(t, newEvent("ann", 1))
	ts.observe(t, newEvent("ann", 2))
	_, err := erase(ctx(t), ts, "ann")
	want := problem{Code: codes.ResourceExhausted, Reason: "OVERLOADED", Retry: true}
	same(t, want, problemOf(t, err), "one call more")
	r := reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: "ann"})
	same(t, int64(2), r.GetDeletedEventCount(), "events that the refused call has left")
	ts.shutdown(t)
	calls.Wait()
}

// A store that cannot tell is not asked to erase.
func TestStoreCannotTell(t *testing.T) {
	ts := start(t, setup{store: struct{ store.Store }{memory.New()}})
	ts.observe(t, newEvent("ann", 1))
	ts.observe(t, newEvent("ann", 2))
	_, err := erase(ctx(t), ts, "ann")
	want := problem{Code: codes.FailedPrecondition, Reason: "STORE_CANNOT_TELL"}
	same(t, want, problemOf(t, err), "the answer")
	r := reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: "ann"})
	same(t, int64(2), r.GetDeletedEventCount(), "events that the refused call has left")
}
