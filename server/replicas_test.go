package server

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// twoServers calls run with two servers over one store, for each store of this module that is here,
// at the same time.
func twoServers(t *testing.T, run func(t *testing.T, servers [2]*testServer)) {
	t.Helper()
	twoServersOf(t, setup{}, run)
}

// twoServersOf is twoServers with a setup, but for its store.
func twoServersOf(t *testing.T, su setup, run func(t *testing.T, servers [2]*testServer)) {
	t.Helper()
	overStores(t, func(t *testing.T, open func() store.Store) {
		var servers [2]*testServer
		for i := range servers {
			su := su
			su.store = open()
			servers[i] = start(t, su)
		}
		run(t, servers)
	})
}

// overStores calls run for each store of this module that is here, at the same time, with what
// opens the store for one more server.
func overStores(t *testing.T, run func(t *testing.T, open func() store.Store)) {
	t.Helper()
	for name, make := range sharedStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := make(t)
			run(t, func() store.Store { return open() })
		})
	}
	t.Run("pebble", func(t *testing.T) { // within one process
		t.Parallel()
		st := check.Get(pebble.Open(t.Context(), t.TempDir(), pebble.Options{}))(t)
		closeAtEnd(t, st)
		run(t, func() store.Store { return st })
	})
}

// listOf is what tells whether two lists were made from the same history.
func listOf(r *pb.RecommendResponse) string {
	return fmt.Sprintln(r.GetUserRevision(), r.GetItems(), r.GetDegradations())
}

// TestErasedUsersReturnAtOtherServer erases users at one server and lets them return with as many
// events as before, while the other one holds the states of their former lives: no list at either
// server comes from a former life.
func TestErasedUsersReturnAtOtherServer(t *testing.T) {
	t.Parallel()
	const users, events = 200, 5
	twoServers(t, func(t *testing.T, servers [2]*testServer) {
		a, b := servers[0], servers[1]
		former, checked := 0, 0
		for _, u := range soak.Some(t, users) {
			user := fmt.Sprint("user-", u)
			for e := range events {
				a.observe(t, withID(fmt.Sprint(e), user, (u+3*e)%testItems))
			}
			before := b.ask(t, forUser(user)) // it is cached there
			reply(t, a.users.DeleteUser, &pb.DeleteUserRequest{UserId: user})
			if u%2 == 0 {
				check.Same(t, uint64(0), b.ask(t, forUser(user)).GetUserRevision(),
					"%s: revision of a list after the erasure", user)
			}
			var life []int
			for e := range events {
				life = append(life, (u+3*e+11)%testItems)
				servers[u%2].observe(t, withID(fmt.Sprint(e), user, life[e]))
			}
			want := forHistory(life...)
			for i := range life { // all at one time, as those of withID
				want.GetHistory().Entries[i].EventTime = withID("", "", 0).GetEventTime()
			}
			fresh := a.ask(t, want)
			for i, s := range servers {
				got := s.ask(t, forUser(user))
				want, items := fmt.Sprintln(fresh.GetItems()), fmt.Sprintln(got.GetItems())
				if checked++; got.GetUserRevision() != events || items != want {
					former++
					t.Errorf("%s: server %d answers from revision %d:\n%s", user, i,
						got.GetUserRevision(), cmp.Diff(want, items))
				}
			}
			if listOf(before) == listOf(b.ask(t, forUser(user))) {
				t.Fatalf("%s: both lives give the same list, so nothing was tested", user)
			}
		}
		t.Logf("%d of %d lists came from a former life", former, checked)
	})
}

// TestReadsAfterWritesAtOtherServer reads at one server what was written at the other: no list is
// older than the write.
func TestReadsAfterWritesAtOtherServer(t *testing.T) {
	t.Parallel()
	const users, events = 200, 4
	twoServers(t, func(t *testing.T, servers [2]*testServer) {
		stale := 0
		for _, u := range soak.Some(t, users) {
			user := fmt.Sprint("user-", u)
			for e := range events {
				writer, other := servers[e%2], servers[1-e%2]
				revision := writer.observe(t, newEvent(user, (7*u+5*e)%testItems)).GetUserRevision()
				got, want := other.ask(t, forUser(user)), writer.ask(t, forUser(user))
				if got.GetUserRevision() != revision || listOf(got) != listOf(want) {
					stale++
					t.Errorf("%s: revision %d written, the other server answers\n%s\nand not\n%s",
						user, revision, listOf(got), listOf(want))
				}
			}
		}
		t.Logf("%d reads were stale", stale)
	})
}
