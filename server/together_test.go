package server

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
)

// TestNewItemsOfOneServer lets users of one of three servers take an item that is new: all servers
// place it, in one way, and give equal lists.
func TestNewItemsOfOneServer(t *testing.T) {
	t.Parallel()
	const users = 300
	overSharedStores(t, func(t *testing.T, open func() store.Shared) {
		servers := startTogether(t, setup{}, open, 3)
		rng := rand.New(rand.NewPCG(1, 1))
		for u := range users {
			for range 1 + rng.IntN(6) {
				servers[u%3].observe(t, newEvent(fmt.Sprint("user-", u), rng.IntN(testItems)))
			}
		}
		for u := range 8 {
			servers[1].takeNew(t, fmt.Sprint("user-", u), novelty)
		}
		took := awaitAlike(t, servers, novelty, true)
		t.Logf("all servers have the item after %v", took)
		checkEqualLists(t, servers, users)
	})
}

// checkEqualLists compares the lists of users at all servers, to the bit, as far as they are of the
// same version.
func checkEqualLists(t *testing.T, servers []*testServer, users int) {
	t.Helper()
	compared, differ := 0, 0
	for u := range users {
		for attempt := 0; ; attempt++ {
			var lists []*pb.RecommendResponse
			for _, s := range servers {
				lists = append(lists, s.ask(t, forUser(fmt.Sprint("user-", u))))
			}
			if !slices.ContainsFunc(lists, func(r *pb.RecommendResponse) bool {
				return r.GetModelVersion() != lists[0].GetModelVersion()
			}) {
				for _, r := range lists[1:] {
					if compared++; listOf(r) != listOf(lists[0]) {
						differ++
						t.Errorf("user %d: lists of version %s differ:\n%s", u,
							r.GetModelVersion(), cmp.Diff(listOf(lists[0]), listOf(r)))
					}
				}
				break
			}
			if attempt == 100 {
				t.Fatal("the versions of the servers stay different")
			}
			time.Sleep(20 * time.Millisecond) // an extension is on its way
		}
	}
	t.Logf("%d of %d lists differ", differ, compared)
}

// TestTrendsOfSharedStores lets users of three servers take items: all servers have the same trends,
// in lists and explanations, and those of an owner that ended stay until another one has counted.
func TestTrendsOfSharedStores(t *testing.T) {
	t.Parallel()
	overSharedStores(t, func(t *testing.T, open func() store.Shared) {
		su := setup{
			open: func() (*model.Model, error) {
				return servertest.BuildModel(t, 1, servertest.Item, func(s *model.Spec) {
					s.Trend = trend.Spec{HalfLife: 100, Span: 1, Gain: 0.5, Power: 0.5}
				}), nil
			},
			config: func(c *Config) { c.ExtendEvery, c.Now = 20*time.Millisecond, nil },
		}
		servers := startTogether(t, su, open, 3)
		added := func(ts *testServer, rising int) float64 {
			r := ts.ask(t, explaining(&pb.RecommendRequest{PageSize: 5,
				Subject: forHistory(1, 2).GetSubject()}, 1))
			for _, x := range r.GetItems() {
				checkExplanation(t, x, 1)
			}
			i := slices.IndexFunc(r.GetItems(), func(x *pb.ScoredItem) bool {
				return x.GetItemId() == item(rising)
			})
			if i < 0 {
				return 0
			}
			return r.GetItems()[i].GetExplanation().GetTrend()
		}
		alike := func(of []*testServer, rising int) bool {
			version := of[0].version(t)
			return strings.Contains(version, "~") && !slices.ContainsFunc(of,
				func(s *testServer) bool {
					return s.version(t) != version || added(s, rising) < 0.2
				})
		}
		// The owner searches the store for the first ones, and is told of the others.
		for n, rising := range []int{7, 8} {
			for u := 60 * n; u < 60*(n+1); u++ {
				servers[u%3].observe(t, newEvent(fmt.Sprint("user-", u), rising))
				servers[u%3].observe(t, newEvent(fmt.Sprint("user-", u), u%testItems))
			}
			eventually(t, "all servers have the trends of all", func() bool {
				return alike(servers, rising)
			})
		}
		// The trends that all have may not count all the events yet.
		eventually(t, "a new user is shown what rose last", func() bool {
			list := servers[1].ask(t, forUser("nobody"))
			return list.GetItems()[0].GetItemId() == item(8)
		})
		checkEqualLists(t, servers, 120)
		servers[0].shutdown(t)
		servers = servers[1:]
		before := servers[0].version(t)
		for u := range 60 {
			servers[u%2].observe(t, newEvent(fmt.Sprint("user-", u), 9))
		}
		eventually(t, "others go on with the trends", func() bool {
			return alike(servers, 9) && servers[0].version(t) != before
		})
	})
}

// TestOwnerEnds ends the server that places the new items: another one goes on with what that one
// knew, under a later term.
func TestOwnerEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, ts *testServer, st *severedStore){
		"stopped": func(t *testing.T, ts *testServer, _ *severedStore) { ts.shutdown(t) },
		"killed":  func(_ *testing.T, _ *testServer, st *severedStore) { st.severed.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			overSharedStores(t, func(t *testing.T, open func() store.Shared) {
				first, second := &severedStore{Shared: open()}, &severedStore{Shared: open()}
				a := startTogether(t, setup{store: first}, nil, 1)[0]
				base := a.version(t)
				a.takeNew(t, "ann", novelty)
				a.takeNew(t, "ann", "other")
				a.takeNew(t, "bob", "other")
				eventually(t, "the owner has placed an item",
					func() bool { return knownTo(a, "other") })
				b := startTogether(t, setup{store: second}, nil, 1)[0]
				awaitAlike(t, []*testServer{a, b}, "other", true)
				before := newestDocument(t, second, base)

				end(t, a, first)
				b.takeNew(t, "bob", novelty) // the second user: the first one is known of
				took := eventually(t, "another server places the item",
					func() bool { return knownTo(b, novelty) })
				t.Logf("another server has placed an item after %v", took)
				if !knownTo(b, "other") {
					t.Error("an item that had its place has lost it")
				}
				after := newestDocument(t, second, base)
				if termOf(after) <= termOf(before) {
					t.Errorf("document %s, and %s of another owner: want a later term", before,
						after)
				}
				if n := second.searches.Load(); n > 1 {
					t.Errorf("the store was searched %d times, want once to count", n)
				}
			})
		})
	}
}

func knownTo(ts *testServer, id string) bool {
	l := ts.arms.Main().Models.Acquire()
	defer l.Release()
	return knows(id)(l.Model)
}

// newestDocument is the name of the newest extension of a base, once those before it are removed.
func newestDocument(t testing.TB, st store.Shared, base string) (name string) {
	t.Helper()
	eventually(t, "there is one extension", func() bool {
		names := check.Get(st.NoteNames(t.Context(), "gsimc.extension.documents."+base))(t)
		name = strings.Join(names, " ")
		return len(names) == 1
	})
	return name
}

// termOf is the term in the name of a document, as a text that sorts.
func termOf(name string) string { return strings.Split(name, "-")[2] }

// TestFormerOwnerCannotOverwrite pauses the owner in the middle of its work for longer than its
// lease. What it writes when it wakes up is refused, and it serves what the next owner has made.
func TestFormerOwnerCannotOverwrite(t *testing.T) {
	t.Parallel()
	overSharedStores(t, func(t *testing.T, open func() store.Shared) {
		first, second := &severedStore{Shared: open()}, open()
		var pausing atomic.Bool
		paused, resume := make(chan struct{}), make(chan struct{})
		first.putNote = func(_ context.Context, topic, _ string) {
			if strings.Contains(topic, "documents") && pausing.CompareAndSwap(true, false) {
				first.severed.Store(true) // it cannot prolong its lease
				close(paused)
				<-resume
				first.severed.Store(false)
			}
		}
		a := startTogether(t, setup{store: first}, nil, 1)[0]
		base := a.version(t)
		for _, user := range []string{"ann", "bob"} {
			a.takeNew(t, user, "first")
		}
		eventually(t, "the owner has placed an item", func() bool { return knownTo(a, "first") })
		b := startTogether(t, setup{store: second}, nil, 1)[0]
		pausing.Store(true)
		for _, user := range []string{"ann", "bob"} {
			a.takeNew(t, user, "second")
		}
		<-paused
		for _, user := range []string{"cid", "dan"} {
			b.takeNew(t, user, "third")
		}
		eventually(t, "another server places items", func() bool { return knownTo(b, "third") })
		want := newestDocument(t, second, base)
		close(resume)
		awaitAlike(t, []*testServer{a, b}, "third", true)
		awaitAlike(t, []*testServer{a, b}, "second", true)
		if got := newestDocument(t, second, base); termOf(got) != termOf(want) {
			t.Errorf("the document %s became %s, of another term", want, got)
		}
	})
}

// TestErasedUsersLeaveNotes erases users at servers that did not see them come: their ids leave
// what servers keep in the store of new items, and a user who returns is counted as a new one.
func TestErasedUsersLeaveNotes(t *testing.T) {
	t.Parallel()
	overSharedStores(t, func(t *testing.T, open func() store.Shared) {
		servers := startTogether(t, setup{}, open, 3)
		base, _, _ := strings.Cut(servers[0].version(t), "+")
		st := open()
		mentions := func(user string) bool {
			for _, note := range notesOf(t, st, base) {
				if bytes.Contains(note, []byte(user)) {
					return true
				}
			}
			return false
		}
		for u := range 4 {
			servers[0].takeNew(t, fmt.Sprint("canary-", u), novelty)
		}
		awaitAlike(t, servers, novelty, true)
		// The item has its place with three of the four; a note may be on its way to the samples.
		eventually(t, "a note has each user", func() bool {
			return mentions("canary-0") && mentions("canary-1") && mentions("canary-2") &&
				mentions("canary-3")
		})
		for u := range 3 { // one is left, which is too few
			user := fmt.Sprint("canary-", u)
			reply(t, servers[1+u%2].users.DeleteUser, &pb.DeleteUserRequest{UserId: user})
			took := eventually(t, "the user has left all notes",
				func() bool { return !mentions(user) })
			t.Logf("no note has the user after %v", took)
		}
		awaitAlike(t, servers, novelty, false)
		servers[2].takeNew(t, "canary-0", novelty) // the user returns at another server
		awaitAlike(t, servers, novelty, true)
	})
}

// TestServersWithDifferentModels lets servers have different models, as while a new one is rolled
// out: each has the new items of its own, and those that have one model have one version.
func TestServersWithDifferentModels(t *testing.T) {
	t.Parallel()
	overSharedStores(t, func(t *testing.T, open func() store.Shared) {
		var seed atomic.Uint64
		seed.Store(1)
		a := startTogether(t, setup{}, open, 1)[0]
		b := startTogether(t, setup{open: func() (*model.Model, error) {
			return newModel(t, seed.Load()), nil
		}}, open, 1)[0]
		for u := range 3 {
			a.takeNew(t, fmt.Sprint("user-", u), novelty)
		}
		awaitAlike(t, []*testServer{a, b}, novelty, true)
		seed.Store(2)
		must(t, b.Reload(ctx(t)))
		for u := range 3 {
			a.takeNew(t, fmt.Sprint("user-", u), "later") // seen by the server of the other model
		}
		for _, s := range []*testServer{a, b} {
			eventually(t, "each server has the new items", func() bool {
				return knownTo(s, novelty) && knownTo(s, "later")
			})
		}
		if a.version(t) == b.version(t) {
			t.Error("extensions of different models have one version")
		}
		seed.Store(1)
		must(t, b.Reload(ctx(t)))
		awaitAlike(t, []*testServer{a, b}, "later", true)
	})
}

// TestPopularItemsOfOtherServers: servers without a model list what users of other servers take,
// and what of that is erased is gone.
func TestPopularItemsOfOtherServers(t *testing.T) {
	t.Parallel()
	overSharedStores(t, func(t *testing.T, open func() store.Shared) {
		none := func() (*model.Model, error) { return nil, ErrNoModel }
		servers := startTogether(t, setup{open: none}, open, 2)
		a, b := servers[0], servers[1]
		lists := func() (same bool, items []string) {
			first, second := a.ask(t, forUser("eve")), b.ask(t, forUser("eve"))
			return cmp.Equal(itemIDs(first), itemIDs(second)), itemIDs(second)
		}
		a.takeNew(t, "ann", "one")
		a.takeNew(t, "bob", "one")
		b.takeNew(t, "cid", "two")
		eventually(t, "both servers list both items", func() bool {
			same, items := lists()
			return same && cmp.Equal(items, []string{"one", "two"})
		})
		for _, user := range []string{"ann", "bob"} {
			reply(t, b.users.DeleteUser, &pb.DeleteUserRequest{UserId: user})
		}
		eventually(t, "both servers have forgotten erased users", func() bool {
			same, items := lists()
			return same && cmp.Equal(items, []string{"two"})
		})
	})
}
