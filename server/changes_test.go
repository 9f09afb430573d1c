package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/users"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// listed returns the tokens of all users of a list.
func (ts *testServer) listed(t *testing.T) (map[string]string, error) {
	t.Helper()
	stream, err := ts.users.ListUsers(ctx(t), &pb.ListUsersRequest{})
	all := map[string]string{}
	for err == nil {
		var r *pb.ListUsersResponse
		if r, err = stream.Recv(); errors.Is(err, io.EOF) {
			return all, nil
		}
		for _, u := range r.GetUsers() {
			all[u.GetUserId()] = string(u.GetSessionToken())
		}
	}
	return all, err
}

// changed returns what became of one user, in as many calls as that needs.
func (ts *testServer) changed(t *testing.T, user, token string) *pb.UserChanges {
	t.Helper()
	all := &pb.UserChanges{UserId: user, SessionToken: []byte(token), More: true}
	for all.GetMore() {
		r := reply(t, ts.users.BatchGetChanges, &pb.BatchGetChangesRequest{Users: []*pb.UserHistory{
			{UserId: user, SessionToken: all.GetSessionToken()}}}).GetResults()[0]
		all.SessionToken, all.More = r.GetSessionToken(), r.GetMore()
		all.Replaced = all.GetReplaced() || r.GetReplaced()
		all.Events = append(all.GetEvents(), r.GetEvents()...)
	}
	return all
}

// Who lists the users and asks for the changes has all histories, at first and after each change.
func TestListUsersAndTheirChanges(t *testing.T) {
	ts := start(t, setup{})
	for i := range users.ListPart + 1 {
		ts.observe(t, &pb.Event{UserId: fmt.Sprint("u", i), ItemId: item(1)})
	}
	long := ts.written(t, "ann", users.ChangedEvents+1)
	first := check.Get(ts.listed(t))(t)
	check.Same(t, users.ListPart+2, len(first), "users of the list")
	ann := ts.changed(t, "ann", "")
	same(t, long, ann.GetEvents(), "events from the beginning on")
	check.Same(t, first["ann"], string(ann.GetSessionToken()), "the token of all of them")

	added := ts.written(t, "ann", users.ChangedEvents+3)[users.ChangedEvents+1:] // and repeats
	reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: "u0"})
	reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: "u1"})
	back := ts.written(t, "u1", 1)
	second := check.Get(ts.listed(t))(t)
	check.Same(t, users.ListPart+1, len(second), "users after an erasure")
	for _, c := range []*pb.UserChanges{
		{UserId: "ann", Events: added},
		{UserId: "u0", Replaced: true},
		{UserId: "u1", Replaced: true, Events: back},
		{UserId: "u2"},
		{UserId: "nobody"},
	} {
		c.SessionToken = []byte(second[c.GetUserId()])
		if len(c.GetSessionToken()) == 0 {
			c.SessionToken = nil
		}
		same(t, c, ts.changed(t, c.GetUserId(), first[c.GetUserId()]), "changes of %s",
			c.GetUserId())
	}
}

// All users of a call share the room of its answer, and what has none is told to have more.
func TestChangesShareTheAnswer(t *testing.T) {
	ts := start(t, setup{})
	ts.written(t, "ann", users.ChangedEvents)
	ts.written(t, "bob", 1)
	old := ts.changed(t, "bob", "").GetSessionToken()
	reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: "bob"})
	ts.written(t, "bob", 1)
	r := reply(t, ts.users.BatchGetChanges, &pb.BatchGetChangesRequest{Users: []*pb.UserHistory{
		{UserId: "ann"}, {UserId: "bob", SessionToken: old}, {UserId: "bob"}}}).GetResults()
	check.Same(t, users.ChangedEvents, len(r[0].GetEvents()), "events of the first user")
	same(t, &pb.UserChanges{UserId: "bob", SessionToken: old, More: true}, r[1], "of the second")
	same(t, &pb.UserChanges{UserId: "bob", More: true}, r[2], "of the third")
}

// A store may read a history in parts, and begin anew when it is another one in the next part, or
// none: what was read of the life before is in no answer.
func TestChangesOfAnotherLife(t *testing.T) {
	st := &hookedStore{Store: memory.New()}
	ts := start(t, setup{store: st})
	known := ts.changed(t, "ann", "").GetSessionToken()
	ts.written(t, "ann", 3)
	for _, again := range []bool{true, false} {
		first := true
		st.SinceFunc = func(c context.Context, user string, from store.Version,
			fn func(store.Version, store.Event) error) (store.Version, bool, error) {
			if !first {
				return st.Store.Since(c, user, from, fn)
			}
			first = false
			if _, _, err := st.Store.Since(c, user, from, fn); err != nil {
				return store.Version{}, false, err
			}
			check.Get(st.Erase(c, user))(t)
			if again {
				appendEvent(t, st.Store, user, "new")
			}
			return st.Store.Since(c, user, store.Version{}, fn)
		}
		want := []string(nil)
		if again {
			want = []string{"new"}
		}
		var got []string
		for _, e := range ts.changed(t, "ann", string(known)).GetEvents() {
			got = append(got, e.GetEvent().GetEventId())
		}
		check.Same(t, want, got, "events of a history that comes again: %t", again)
	}
}

// Damage is told, and hides no other user: by the list after all others, by the changes as the
// error of one result.
func TestChangesBesideDamage(t *testing.T) {
	st := &hookedStore{Store: memory.New()}
	ts := start(t, setup{store: st})
	ts.written(t, "ann", 1)
	ts.written(t, "bob", 1)
	st.EachFunc = func(c context.Context,
		fn func(string, store.Version) error) error {
		err := st.Store.Each(c, 0, 1, func(user string, head store.Version) error {
			if user == "bob" {
				return nil
			}
			return fn(user, head)
		})
		return errors.Join(err, &store.SkippedError{Users: 1})
	}
	st.SinceFunc = func(c context.Context, user string, known store.Version,
		fn func(store.Version, store.Event) error) (store.Version, bool, error) {
		if user == "bob" {
			return store.Version{}, false, store.ErrCorrupt
		}
		return st.Store.Since(c, user, known, fn)
	}
	all, err := ts.listed(t)
	check.Same(t, 1, len(all), "users before the error")
	want := problem{Code: codes.DataLoss, Reason: "STORE_CORRUPT"}
	same(t, want, problemOf(t, err), "the end of the list")
	r := reply(t, ts.users.BatchGetChanges, &pb.BatchGetChangesRequest{Users: []*pb.UserHistory{
		{UserId: "bob"}, {UserId: "ann"}}}).GetResults()
	check.Same(t, int32(codes.DataLoss), r[0].GetError().GetCode(), "the error of the damaged one")
	check.Same(t, 1, len(r[1].GetEvents()), "events of the other")
}
