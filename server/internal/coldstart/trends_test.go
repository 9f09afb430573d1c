package coldstart

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

func newTrendingRig(t *testing.T, st store.Store) *rig {
	t.Helper()
	return newRig(t, st, trendingModel(t, 1))
}

func trendingModel(t *testing.T, seed uint64) *model.Model {
	t.Helper()
	return servertest.BuildModel(t, seed, servertest.Item, func(s *model.Spec) {
		s.Trend = trend.Spec{HalfLife: 30, Span: 60, Gain: 0.5, Power: 0.5}
	})
}

// trends are the name of the trends that serve, and what they add to the score of an item.
func (r *rig) trends(t *testing.T, item string) (name string, added float64) {
	t.Helper()
	for range 2 { // the first one may search
		must(t, r.look(t.Context(), true))
		_, a := r.account(t)
		a.Span = 0 // another span ends
	}
	l := r.Models.Acquire()
	defer l.Release()
	i, known := l.ItemIndex(item)
	if !known {
		t.Fatalf("%s is not known", item)
	}
	_, name, _ = strings.Cut(l.Version(), "~")
	x := l.Explain(l.NewState(), nil, []int32{i}, model.EstimatorBGS)
	return name, x.Trend[0]
}

// takeBack takes all events of a user back, as the server does, and leaves one that counts nothing.
func (r *rig) takeBack(t *testing.T, user string) {
	t.Helper()
	left := []store.Event{{ID: "seen", Item: novelty, Type: "nothing", Time: servertest.Now}}
	check.Get(r.Store.Rewrite(t.Context(), []string{user},
		func([][]store.Event) [][]store.Event { return [][]store.Event{left} }))(t)
	l := r.Models.Acquire()
	defer l.Release()
	r.Rewrote(l.Model, user, true, left)
}

// What is taken now rises, on other servers and after a restart alike. Who is erased leaves no
// trace, and neither does an event that is taken back.
func TestTrendsFollowTheStore(t *testing.T) {
	r := newTrendingRig(t, memory.New())
	rising := servertest.Item(3)
	if name, added := r.trends(t, rising); name != "" || added != 0 {
		t.Errorf("without events the trends are %q and add %v", name, added)
	}
	for u := range 20 {
		r.take(t, fmt.Sprint("early-", u), rising)
		r.take(t, fmt.Sprint("early-", u), servertest.Item(u))
	}
	name, added := r.trends(t, rising)
	if !(added > 0.1) {
		t.Errorf("what twenty users have taken has %v more", added)
	}
	if l := r.Models.Acquire(); l.Popular()[0] != 3 {
		t.Errorf("the most popular items are %v, want item 3 first", l.Popular()[:3])
	}
	if again, _ := newTrendingRig(t, r.Store).trends(t, rising); again != name {
		t.Errorf("another server has the trends %q, want %q", again, name)
	}
	for u := range 1000 {
		r.take(t, fmt.Sprint("late-", u), servertest.Item(u%40))
		r.take(t, fmt.Sprint("late-", u), novelty)
	}
	if other, _ := r.trends(t, rising); other == name {
		t.Error("a thousand users change nothing")
	}
	if _, added := r.trends(t, novelty); !(added > 0.1) {
		t.Errorf("a new item that a thousand users have taken has %v more", added)
	}
	for u := range 1000 {
		if user := fmt.Sprint("late-", u); u%2 == 0 {
			r.erase(t, user)
		} else {
			r.takeBack(t, user)
		}
	}
	if after, is := r.trends(t, rising); after != name || is != added {
		t.Errorf("when a thousand users have gone the trends are %q and add %v, want %q, %v",
			after, is, name, added)
	}
}

// A user counts once for an item, when it is first taken.
func TestTrendsCountUsersOnce(t *testing.T) {
	once, often := newTrendingRig(t, memory.New()), newTrendingRig(t, memory.New())
	for u := range 3 {
		for n := range 5 {
			if n == 0 {
				once.take(t, fmt.Sprint(u), servertest.Item(u))
			} else if u > 0 {
				break
			}
			records := []store.Record{{User: fmt.Sprint(u), Event: store.Event{ID: fmt.Sprint(n),
				Item: servertest.Item(u), Type: "like", Value: 1,
				Time: servertest.Now.Add(time.Duration(n) * time.Hour)}}}
			check.Get(often.Store.Append(t.Context(), records))(t)
		}
	}
	var names []string
	for _, r := range []*rig{once, often} {
		name, _ := r.trends(t, servertest.Item(1))
		names = append(names, name)
	}
	if names[0] == "" || len(slices.Compact(names)) != 1 {
		t.Errorf("the trends are %q, want the same", names)
	}
}

// While a search is still to count all users, items are placed without those who have changed.
func TestTheSearchComesFirst(t *testing.T) {
	r := newTrendingRig(t, memory.New())
	must(t, r.look(t.Context(), true)) // the search of an empty store
	r.take(t, "user", servertest.Item(3))
	l, a := r.account(t)
	a.Tallied = false
	must(t, r.update(t.Context(), l, a))
	check.Same(t, 1, a.Tally.Pending.Len(), "users who wait for the search")
	for range 2 {
		must(t, r.look(t.Context(), true))
	}
	check.Same(t, 0, a.Tally.Pending.Len(), "users who wait after it")
}

// Who changes while the users who have changed are read waits for the next look, which does not come
// at once for that: in a stream of events looks would follow one another.
func TestEventsThatGoOnWaitForTheNextLook(t *testing.T) {
	st := &servertest.Store{Store: memory.New()}
	x := newRig(t, st, servertest.NewModel(t, 1))
	for range 2 {
		must(t, x.look(t.Context(), true))
	}
	for len(x.awake) > 0 {
		<-x.awake
	}
	x.take(t, "ann", servertest.Item(1))
	st.SinceFunc = func(
		ctx context.Context, user string, known store.Version,
		fn func(store.Version, store.Event) error,
	) (store.Version, bool, error) {
		x.ledger.Changed("ben", nil)
		return st.Store.Since(ctx, user, known, fn)
	}
	must(t, x.look(t.Context(), true))
	_, a := x.account(t)
	if waiting := a.Tally.Pending.Len(); waiting != 1 || len(x.awake) > 0 {
		t.Errorf("%d users wait, and a look comes at once: %t; want one, who waits for the next",
			waiting, len(x.awake) > 0)
	}
}

// Another model has trends before the store has been searched, by what was counted for the one
// before it, and after the search those of a server that begins with it.
func TestAnotherModelInheritsTheCounts(t *testing.T) {
	same := trend.Spec{HalfLife: 30, Span: 60, Gain: 0.5, Power: 0.5}
	for name, spec := range map[string]trend.Spec{
		"the same spans":    same,
		"half of the users": same,
		"longer spans":      {HalfLife: 40, Span: 90, Gain: 0.5, Power: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			next := func() *model.Model {
				return servertest.BuildModel(t, 2, servertest.Item, func(s *model.Spec) {
					s.Trend = spec
				})
			}
			st := &servertest.Store{Store: memory.New()}
			opened := []*model.Model{trendingModel(t, 1), next()}
			x := newRigOf(t, st, func() (*model.Model, error) {
				m := opened[0]
				opened = opened[1:]
				return m, nil
			})
			for u := range 40 {
				x.take(t, fmt.Sprint("user-", u), servertest.Item(3))
				x.take(t, fmt.Sprint("user-", u), servertest.Item(u%20))
				x.take(t, fmt.Sprint("user-", u), novelty)
			}
			if name, _ := x.trends(t, novelty); name == "" {
				t.Fatal("there are no trends")
			}
			if name == "half of the users" {
				_, a := x.account(t)
				a.Tally.Halve(1)
			}
			x.take(t, "last", servertest.Item(5)) // who waits to be read at the reload
			l, _, err := x.Models.Reload(t.Context())
			must(t, err)
			l.Release()
			served := ""
			st.EachFunc = func(ctx context.Context, fn func(string, store.Version) error) error {
				served, _ = x.serving(novelty)
				return st.Store.Each(ctx, 0, 1, fn)
			}
			after, _ := x.trends(t, novelty)
			if !strings.Contains(served, "~") {
				t.Errorf("%s serves before the search, want trends", served)
			}
			if want, _ := newRig(t, st.Store, next()).trends(t, novelty); after != want {
				t.Errorf("the trends are %s in the end, want %s", after, want)
			}
		})
	}
}

// What a search has counted that did not come to its end is part of the users: no trends serve by
// it after a reload.
func TestAnotherModelInheritsNoPart(t *testing.T) {
	st := &servertest.Store{Store: memory.New()}
	seed := uint64(0)
	x := newRigOf(t, st, func() (*model.Model, error) {
		seed++
		return trendingModel(t, seed), nil
	})
	for u := range 40 {
		x.take(t, fmt.Sprint("user-", u), servertest.Item(u%20))
	}
	met := 0
	st.EachFunc = func(ctx context.Context, fn func(string, store.Version) error) error {
		return st.Store.Each(ctx, 0, 1, func(user string, head store.Version) error {
			if met++; met == 5 {
				l, _, err := x.Models.Reload(t.Context())
				must(t, err)
				l.Release()
			} else if met == 6 {
				if served, _ := x.serving(novelty); strings.Contains(served, "~") {
					t.Errorf("%s serves, trends of four of forty users", served)
				}
			}
			return fn(user, head)
		})
	}
	must(t, x.look(t.Context(), true)) // ends by the reload
	must(t, x.look(t.Context(), true))
	if served, _ := x.serving(novelty); met < 40 || !strings.Contains(served, "~") {
		t.Errorf("%s serves after %d users, want trends of all", served, met)
	}
}
