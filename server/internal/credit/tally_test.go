package credit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/store"
)

// began is the start of the server, in the midst of a second.
var began = time.Unix(1_700_000_000, 5e8)

// newBook returns the book of a server with arms main and b; users whose names begin with b have b.
func newBook(arms ...string) *Book {
	return New(Deps{Identity: store.Identity{ID: [16]byte{1}}, Arms: arms,
		Now: func() time.Time { return began },
		ArmOf: func(user string) int {
			if user[0] == 'b' {
				return 1
			}
			return 0
		},
		Weights: func() event.Weights { return event.Weights{"buy": 3, "dislike": -1} },
		Metrics: NewMetrics()})
}

// sum adds up the groups.
func sum(groups [64]int64) (n int64) {
	for _, v := range groups {
		n += v
	}
	return n
}

// A user enters once, with a list of the own arm that has an id; and what counts as a hit is an
// event of positive weight and value about an item of a list that the own arm made for a user.
func TestTally(t *testing.T) {
	b := newBook("main", "b")
	b.Listed(0, "ann", true, false)
	b.Listed(0, "ann", true, true)
	b.Listed(1, "bob", true, false)
	b.Listed(0, "ben", true, false) // of an arm that lost its users to main
	b.Listed(0, "amy", false, false)
	b.Listed(0, "", true, false)
	b.Answered(1, time.Second, false)
	b.Answered(1, 2*time.Second, true)
	worth := func(value float64, user, kind, item string, r session.Recommendation) {
		r.Items = []uint16{session.ShortHash(b.Identity, "i")}
		e := &pb.Event{UserId: user, ItemId: item, RecommendationId: r.Token(b.Identity)}
		b.Count(b.Of(e, began), kind, value)
	}
	count := func(user, kind, item string, r session.Recommendation) {
		worth(1, user, kind, item, r)
	}
	good := session.Recommendation{Arm: "main", Made: began}
	count("ann", "like", "i", good)
	worth(9.5, "ann", "buy", "i", good)
	worth(0, "ann", "buy", "i", good)      // worth nothing
	worth(-9.5, "ann", "buy", "i", good)   // given back
	worth(-2, "ann", "dislike", "i", good) // taken back: weight times value is positive
	count("ann", "seldom", "i", good)
	count("ann", "dislike", "i", good)  // not wanted
	count("ann", "like", "other", good) // not on the list
	count("bob", "like", "i", good)     // of another arm
	count("ben", "like", "i", good)     // not of the arm that was drawn
	for _, bad := range []session.Recommendation{
		{Arm: "main", Made: began, NoUser: true},         // a session has no arm of its own
		{Arm: "main", Made: began.Add(-2 * time.Second)}, // another server counted the user
		{Arm: "gone", Made: began},
	} {
		count("ann", "like", "i", bad)
	}
	count("bob", "buy", "i", session.Recommendation{Arm: "b", Made: began.Add(time.Hour)})
	f := b.Figures()
	for i, want := range []struct {
		users, hits, lists, popular int64
		types                       map[string]Hits
	}{
		{1, 4, 2, 1, map[string]Hits{"like": {1, 1}, "buy": {1, 9.5}, "other": {1, 1},
			"dislike": {1, -2}}},
		{1, 1, 1, 0, map[string]Hits{"buy": {1, 1}}},
	} {
		check.Same(t, want.users, sum(f[i].Users), "users of arm %d", i)
		check.Same(t, want.hits, sum(f[i].Hits), "hits of arm %d", i)
		check.Same(t, want.lists, f[i].Lists, "lists of arm %d", i)
		check.Same(t, want.popular, f[i].Popular, "popular lists of arm %d", i)
		check.Same(t, want.types, f[i].ByType, "hits by type of arm %d", i)
	}
	check.Same(t, int64(0), f[0].Calls, "calls of main")
	check.Same(t, [3]int64{2, 1, int64(3 * time.Second)},
		[3]int64{f[1].Calls, f[1].Failed, int64(f[1].Took)}, "calls, failed ones and time of b")
	f[0].ByType["like"] = Hits{9, 9}
	check.Same(t, Hits{1, 1}, b.Figures()[0].ByType["like"], "the figures are a copy: likes")
	one := newBook("main")
	one.Listed(0, "ann", true, false)
	check.Same(t, 0, len(one.Figures()), "arms to compare with one")
}

// A comparison that begins anew has nothing of before, nor what is under way at that moment.
func TestRestart(t *testing.T) {
	b, moment := newBook("main", "b"), began
	b.Now = func() time.Time { return moment }
	hit := func(made time.Time) *Credit {
		r := session.Recommendation{Arm: "main", Made: made,
			Items: []uint16{session.ShortHash(b.Identity, "i")}}
		return b.Of(&pb.Event{UserId: "ann", ItemId: "i", RecommendationId: r.Token(b.Identity)},
			moment)
	}
	b.Listed(0, "ann", true, true)
	b.Answered(0, time.Second, true)
	b.Count(hit(began), "like", 1)
	underway := hit(began)
	moment = began.Add(time.Hour)
	b.Restart()
	b.Count(underway, "like", 1)
	b.Count(hit(began), "like", 1)  // of a list of before
	b.Count(hit(moment), "like", 1) // perhaps of one of before, in the same second
	drawn := b.tally.armOf
	b.tally.armOf = func(string) int { b.Restart(); return 0 } // as in a call that goes on meanwhile
	b.Listed(0, "ann", true, true)
	b.Count(hit(moment.Add(time.Second)), "like", 1)
	b.tally.armOf = drawn
	check.Same(t, make([]Figures, 2), without(b.Figures()), "figures of what was before")

	b.Listed(0, "ann", true, false)
	b.Count(hit(moment.Add(time.Second)), "like", 1)
	f := b.Figures()[0]
	check.Same(t, [3]int64{1, 1, 1}, [3]int64{sum(f.Users), f.Lists, sum(f.Hits)},
		"users, lists and hits since")
	newBook("main").Restart() // there is nothing to compare
}

// Lists and hits that are under way when users change their arm count in no arm of which the user is
// not any more.
func TestRestartAmongCalls(t *testing.T) {
	b, shift := newBook("main", "b"), new(atomic.Int64)
	armOf := func(user string) int { return int(int64(user[0])+shift.Load()) % 2 }
	b.tally.armOf = armOf
	users := map[int]string{} // by group, each alone in its own
	for name := 'a'; name <= 'h'; name++ {
		users[groupOf(session.UserHash(b.Identity, string(name)))] = string(name)
	}
	var calls sync.WaitGroup
	ended := make(chan struct{})
	for _, user := range users {
		calls.Go(func() {
			for {
				arm := armOf(user)
				r := session.Recommendation{Arm: b.Arms[arm], Made: began.Add(time.Second),
					Items: []uint16{session.ShortHash(b.Identity, "i")}}
				b.Listed(arm, user, true, false)
				b.Count(b.Of(&pb.Event{UserId: user, ItemId: "i",
					RecommendationId: r.Token(b.Identity)}, began), "like", 1)
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	wrong := 0
	for range 200 {
		shift.Add(1)
		b.Restart()
		time.Sleep(10 * time.Microsecond)
		for arm, f := range b.Figures() {
			for group, user := range users {
				if armOf(user) != arm && f.Users[group]+f.Hits[group] > 0 {
					wrong++
				}
			}
		}
	}
	close(ended)
	calls.Wait()
	check.Same(t, 0, wrong, "users who count in an arm that they do not have")
}

// without returns the figures without their empty maps.
func without(all []Figures) []Figures {
	for i := range all {
		if len(all[i].ByType) == 0 {
			all[i].ByType = nil
		}
	}
	return all
}

// A user and the hits are in the same group, and few users are taken for known.
func TestUsersAreCountedOnce(t *testing.T) {
	const users = 20_000
	b := newBook("main", "b")
	for n := range 2 * users {
		b.Listed(0, fmt.Sprint("a", n%users), true, false)
	}
	f := b.Figures()[0]
	if n := sum(f.Users); n < users-2 || n > users {
		t.Errorf("%d users are counted as %d", users, n)
	}
	for g, n := range f.Users {
		if n < 220 || n > 410 { // 5 standard deviations
			t.Errorf("group %d has %d of %d users", g, n, users)
		}
	}
	r := session.Recommendation{Arm: "main", Made: began,
		Items: []uint16{session.ShortHash(b.Identity, "i")}}
	group := b.Of(&pb.Event{UserId: "a7", ItemId: "i", RecommendationId: r.Token(b.Identity)},
		began).place.group
	alone := newBook("main", "b")
	alone.Listed(0, "a7", true, false)
	check.Same(t, int64(1), alone.Figures()[0].Users[group], "users in the group of the hit")
}

func BenchmarkListed(b *testing.B) {
	book := newBook("main", "b")
	for b.Loop() {
		book.Listed(0, "ann", true, false)
	}
}
