package coldstart

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/borrow"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// newShop is a rig with a catalogue that has the items of the model, and an item that nobody has.
func newShop(t *testing.T, st store.Store) (*rig, *catalogue.Catalogue) {
	t.Helper()
	x := newRig(t, st, servertest.NewModel(t, 1))
	c := stock(t, x)
	shelve(t, c, novelty, 1)
	return x, c
}

// stock gives a rig a catalogue that has the items of the model.
func stock(t *testing.T, x *rig) *catalogue.Catalogue {
	t.Helper()
	c := check.Get(catalogue.Open(t.Context(), memory.New(), servertest.Now, catalogue.Bounds{}))(t)
	x.Catalogue = c
	x.Extender = New(time.Hour, x.Deps)
	for i := range servertest.Items {
		shelve(t, c, servertest.Item(i), i/3)
	}
	return c
}

// shelve writes an item to the catalogue, with what it has in common with others.
func shelve(t *testing.T, c *catalogue.Catalogue, id string, shelf int) {
	t.Helper()
	_, err := c.Upsert(t.Context(), catalogue.Change{IDs: []string{id}, Whole: true,
		Apply: func(_ int, i *store.Item) error {
			i.Categories = []string{fmt.Sprint("shelf ", shelf)}
			return nil
		}})
	must(t, err)
}

// extended looks, and returns the version of the model that serves then, and whether it knows an
// item.
func (r *rig) extended(t *testing.T, id string) (version string, known bool) {
	t.Helper()
	must(t, r.look(t.Context(), true))
	return r.serving(id)
}

func (r *rig) serving(id string) (version string, known bool) {
	l := r.Models.Acquire()
	defer l.Release()
	_, known = l.ItemIndex(id)
	return l.Version(), known
}

// An item borrows a row before the store has been searched. Its first user is evidence, and when the
// user has been erased nothing is left of that: the model is the one of before, to the bit.
func TestFirstUserIsEvidence(t *testing.T) {
	st := &servertest.Store{Store: memory.New()}
	x, _ := newShop(t, st)
	st.EachFunc = func(ctx context.Context, fn func(string, store.Version) error) error {
		if _, known := x.serving(novelty); !known {
			t.Error("the item waits for a search of the store")
		}
		return st.Store.Each(ctx, 0, 1, fn)
	}
	borrowed, _ := x.extended(t, novelty)
	x.take(t, "ann", servertest.Item(20))
	x.take(t, "ann", novelty)
	x.take(t, "ann", "unheard of")
	taken, _ := x.extended(t, novelty)
	if _, known := x.serving("unheard of"); known || taken == borrowed {
		t.Errorf("model %s was %s; one user alone gives an item a row: %t", taken, borrowed, known)
	}
	x.erase(t, "ann")
	if gone, known := x.extended(t, novelty); gone != borrowed || !known {
		t.Errorf("without the user the model is %s, and was %s", gone, borrowed)
	}
}

// An item stays on the lists by the row that it borrows until it has one by its first user, whose
// history may not be readable for long. One that has users when it comes waits for their row.
func TestFirstUserTakesNoItemAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &servertest.Store{Store: memory.New()}
		x, c := newShop(t, st)
		for range 3 {
			x.extended(t, novelty)
		}
		borrowed, _ := x.serving(novelty)
		x.take(t, "ann", novelty)
		x.take(t, "ann", "taken")
		st.SinceFunc = func(
			context.Context, string, store.Version, func(store.Version, store.Event) error,
		) (store.Version, bool, error) {
			return store.Version{}, false, store.ErrUnavailable
		}
		shelve(t, c, "later", 1)
		shelve(t, c, "taken", 1)
		for range 2 {
			time.Sleep(time.Minute)
			if err := x.look(t.Context(), true); err == nil {
				t.Error("no history is read")
			}
			_, later := x.serving("later")
			if _, known := x.serving(novelty); !known || !later {
				t.Errorf("known %t, and another one: %t", known, later)
			}
			if _, known := x.serving("taken"); known {
				t.Error("an item with a user is placed by what it is like alone")
			}
		}
		st.SinceFunc = nil
		if by, known := x.extended(t, novelty); by == borrowed || !known {
			t.Errorf("by the user: model %s, known %t", by, known)
		}
		if _, known := x.serving("taken"); !known {
			t.Error("an item waits longer than for the row of its user")
		}
	})
}

// An item that waits for a row by its user does not wait on when the user has gone.
func TestUserWhoHasGoneHoldsNoItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := newShop(t, memory.New())
		for range 3 {
			x.extended(t, novelty)
		}
		x.take(t, "ann", "taken")
		x.extended(t, novelty)
		x.erase(t, "ann")
		shelve(t, c, "taken", 1)
		time.Sleep(time.Minute)
		version, known := x.extended(t, "taken")
		if again, _ := x.extended(t, "taken"); !known || again != version {
			t.Errorf("known %t; another look changes %s to %s", known, version, again)
		}
	})
}

// New items that served with the model before serve with the next one from its first look on, also
// those whose rows by users come later.
func TestReloadTakesNoItemAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, items = 50, maxPlaced + 200
		seed := uint64(1)
		x := newRigOf(t, memory.New(),
			func() (*model.Model, error) { return servertest.NewModel(t, seed), nil })
		c := stock(t, x)
		for i := range items {
			shelve(t, c, fmt.Sprint("new ", i), i%5)
			x.take(t, fmt.Sprint("user-", i%users), fmt.Sprint("new ", i))
		}
		serve := func() (n int) {
			for i := range items {
				if _, known := x.serving(fmt.Sprint("new ", i)); known {
					n++
				}
			}
			return n
		}
		for range 4 {
			time.Sleep(time.Hour)
			x.extended(t, novelty)
		}
		check.Same(t, items, serve(), "items with the first model")
		seed = 2
		l, _, err := x.Models.Reload(t.Context())
		must(t, err)
		l.Release()
		x.extended(t, novelty)
		check.Same(t, items, serve(), "items with the second model")
	})
}

// Items that nobody has do not wait for the histories of those that somebody has, nor for those
// that are counted or searched.
func TestContentDoesNotWaitForHistories(t *testing.T) {
	const users = 9
	for name, wait := range map[string]func(x *rig, a *ledger.Account){
		"folded in": func(*rig, *ledger.Account) {},
		"counted": func(x *rig, _ *ledger.Account) {
			for u := range users {
				x.ledger.Changed(fmt.Sprint("user-", u), nil)
			}
		},
		"searched":             func(_ *rig, a *ledger.Account) { a.Tallied = false },
		"searched and counted": func(_ *rig, a *ledger.Account) { a.Tallied, a.Counted = false, false },
	} {
		synctest.Test(t, func(t *testing.T) {
			st := &servertest.Store{Store: memory.New()}
			x, c := newShop(t, st)
			for u := range users {
				x.take(t, fmt.Sprint("user-", u), novelty)
			}
			x.extended(t, novelty)
			x.extended(t, novelty)
			time.Sleep(time.Minute)
			_, a := x.account(t)
			read, waits := 0, 0
			if name == "folded in" {
				x.take(t, "ann", novelty)
				shelve(t, c, "later", 1)
			}
			wait(x, a)
			st.SinceFunc = func(
				ctx context.Context, user string, known store.Version,
				fn func(store.Version, store.Event) error,
			) (store.Version, bool, error) {
				if read++; read == 2 && name != "folded in" {
					shelve(t, c, "later", 1)
				}
				if _, known := x.serving("later"); !known {
					waits++
				}
				return st.Store.Since(ctx, user, known, fn)
			}
			for range 2 {
				x.extended(t, novelty)
			}
			most := 2 // it comes with the second one
			if name == "folded in" {
				most = 0
			}
			if read < users || waits > most {
				t.Errorf("%s: %d of %d histories are read before", name, waits, read)
			}
		})
	}
}

// Nor do they wait after others have been folded in, which may go on for long.
func TestFoldingInDelaysNoContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := newShop(t, memory.New())
		before, _ := x.extended(t, novelty)
		time.Sleep(time.Minute)
		x.take(t, "ann", novelty)
		if after, _ := x.extended(t, novelty); after == before {
			t.Error("the item is not folded in")
		}
		shelve(t, c, "later", 1)
		if !x.near.Due() {
			t.Error("a look is not due")
		}
	})
}

// An item with users is placed again when others are alike by now, and not when that says little.
func TestRowsFollowTheirContent(t *testing.T) {
	for _, users := range []int{1, settledContent} {
		synctest.Test(t, func(t *testing.T) {
			x, c := newShop(t, memory.New())
			for u := range users {
				x.take(t, fmt.Sprint("user-", u), servertest.Item(20+u%3))
				x.take(t, fmt.Sprint("user-", u), novelty)
			}
			x.extended(t, novelty)
			before, _ := x.extended(t, novelty)
			shelve(t, c, novelty, 4)
			time.Sleep(time.Minute)
			if after, _ := x.extended(t, novelty); (after != before) != (users == 1) {
				t.Errorf("with %d users the model %s became %s", users, before, after)
			}
		})
	}
}

// What an owner has left serves until the next one has looked through the catalogue, and not longer.
func TestRowsOfTheOwnerBefore(t *testing.T) {
	x, c := newShop(t, memory.New())
	x.extended(t, novelty)
	left := slices.Collect(x.near.Items(func(string) bool { return false }))
	check.Get(c.Delete(t.Context(), []string{novelty}))(t)

	x.Extender = New(time.Nanosecond, x.Deps) // which does not get far at a look
	_, a := x.account(t)
	a.Borrowed, a.Unserved = left, true
	for looks := 0; !x.near.Ready(); looks++ {
		if _, known := x.extended(t, novelty); known == x.near.Ready() {
			t.Errorf("look %d: the item is known: %t", looks, known)
		}
		if looks == 1000 {
			t.Fatal("the catalogue is never looked through")
		}
	}
	if a.Borrowed != nil {
		t.Errorf("left are %v", a.Borrowed)
	}
}

// Rows that are left of a model before do not serve with another one, in whose basis they are not.
func TestLeftRowsEndWithTheirModel(t *testing.T) {
	x, _ := newShop(t, memory.New())
	x.extended(t, novelty)
	left := slices.Collect(x.near.Items(func(string) bool { return false }))
	x.Extender = New(time.Nanosecond, x.Deps) // which does not get far at a look
	l, a := x.account(t)
	a.Borrowed, a.Counted = left, true
	if !x.Models.Replace(l, servertest.NewModel(t, 2)) {
		t.Fatal("the other model does not serve")
	}
	for u := range model.MinNewUsers {
		x.take(t, fmt.Sprint("user-", u), "taken")
	}
	must(t, x.look(t.Context(), true))
	_, taken := x.serving("taken")
	if _, known := x.serving(novelty); x.near.Ready() || !taken || known {
		t.Errorf("an item with users is known: %t, and one of before: %t", taken, known)
	}
}

// slowShop is a catalogue of which each document takes long.
type slowShop struct {
	*catalogue.Catalogue
	each time.Duration
}

func (s *slowShop) Document(id string) (content.Document, bool) {
	time.Sleep(s.each)
	return s.Catalogue.Document(id)
}

// A first pass over a catalogue that takes longer than a look does not wait for the search.
func TestFirstPassGoesOnBesideTheSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users = 100
		st := &servertest.Store{Store: memory.New()}
		x, c := newShop(t, st)
		x.Catalogue = &slowShop{c, time.Second}
		x.Extender = New(30*time.Second, x.Deps)
		for u := range users {
			x.take(t, fmt.Sprint("user-", u), servertest.Item(u%servertest.Items))
		}
		waits := 0
		st.SinceFunc = func(
			ctx context.Context, user string, known store.Version,
			fn func(store.Version, store.Event) error,
		) (store.Version, bool, error) {
			if _, known := x.serving(novelty); !known {
				waits++
			}
			return st.Store.Since(ctx, user, known, fn)
		}
		if _, known := x.extended(t, novelty); !known || waits > users/10 {
			t.Errorf("known %t, after %d of %d histories", known, waits, users)
		}
	})
}

// The rows that another owner has made stay as they are until the catalogue has been read and the
// histories have been counted: an item of one user too.
func TestRowsOfAnotherOwnerStay(t *testing.T) {
	for _, users := range []int{1, 3, 10} {
		x, c := newShop(t, memory.New())
		for u := range 60 {
			x.take(t, fmt.Sprint("user-", u), servertest.Item(u%servertest.Items))
		}
		for range 3 {
			x.extended(t, novelty)
		}
		for u := range users {
			x.take(t, fmt.Sprint("user-", u), novelty)
		}
		for range 3 {
			x.extended(t, novelty)
		}
		l, a := x.account(t)
		want := a.Rows[novelty]
		a.Rows[novelty] = ledger.Row{Item: want.Item, Users: want.Users, Since: ledger.Unknown,
			Other: true}
		a.Tallied = false
		x.near = borrow.New(c, time.Hour, func(err error) { t.Error(err) })
		x.near.Begin(l.Base())
		x.every = time.Nanosecond // a look does a part of a pass
		looks := 0
		for ; !x.near.Ready(); looks++ {
			_, known := x.extended(t, novelty)
			if got := a.Rows[novelty].Item.Users; !known || got != want.Item.Users {
				t.Fatalf("%d users, look %d: known %t, a row of %d users, was %d", users, looks,
					known, got, want.Item.Users)
			}
		}
		if looks < 2 {
			t.Errorf("the pass took %d looks: nothing was seen", looks)
		}
	}
}
