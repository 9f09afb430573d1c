package coldstart

import (
	"fmt"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// An item is expected to have the more users the later it came with the users that it has. What is
// erased has never been, and an item is placed again as it ages.
func TestPaceFollowsTheStore(t *testing.T) {
	x := newRig(t, memory.New(), servertest.NewModel(t, 1))
	clock := servertest.Now
	takes := func(user, item string) {
		t.Helper()
		clock = clock.Add(time.Minute)
		records := []store.Record{{User: user, Event: store.Event{
			ID: item, Item: item, Type: "like", Time: clock, Value: 1}}}
		results := check.Get(x.Store.Append(t.Context(), records))(t)
		x.follow(records, results)
	}
	looks := func() map[string]int64 {
		t.Helper()
		for range 2 {
			must(t, x.look(t.Context(), true))
		}
		_, a := x.account(t)
		users := map[string]int64{}
		for id, row := range a.Rows {
			users[id] = row.Item.Users
		}
		return users
	}
	crowd := func(name string) {
		for u := range 60 {
			for i := range 4 {
				takes(fmt.Sprint(name, u), servertest.Item(i))
			}
		}
	}
	for u := range model.MinNewUsers + 3 {
		takes(fmt.Sprint("early ", u), "old")
	}
	crowd("first ")
	for u := range model.MinNewUsers + 3 {
		takes(fmt.Sprint("late ", u), "young")
	}
	then := looks()
	if then["young"] <= then["old"] {
		t.Errorf("%d users are expected of a young item, and %d of an old one with as many users",
			then["young"], then["old"])
	}
	crowd("second ")
	aged := looks()
	if aged["young"] >= then["young"] {
		t.Errorf("%d users are expected of an item after a time without any, before %d",
			aged["young"], then["young"])
	}
	for u := range 60 {
		x.erase(t, fmt.Sprint("second ", u))
	}
	if again := looks(); again["young"] != then["young"] || again["old"] != then["old"] {
		t.Errorf("after the erasure of all later users %v are expected, want %v", again, then)
	}

	l, a := x.account(t)
	for id, row := range a.Rows { // as an owner finds them that follows another
		row.Since, row.Other, row.Item.Users = ledger.Unknown, true, 1
		a.Rows[id] = row
	}
	a.Tallied = false
	before := paceOf(a, l.Base(), samples.Census{Users: 1})
	settled, n := before.settles(&ledger.Row{}, 9, nil), before.expected(9, 0, nil)
	if !settled || n != 9 {
		t.Errorf("before histories are counted, rows stay: %t, and of 9 users %v are expected",
			settled, n)
	}
	if again := looks(); again["young"] != then["young"] || again["old"] != then["old"] {
		t.Errorf("at another server %v are expected, want %v", again, then)
	}
}

// An item of histories that are imported at once is placed by all that has come since its first
// event, from the first look on. If that is not known yet, it is placed by its users alone.
func TestPlacedByWhatIsCounted(t *testing.T) {
	x := newRig(t, memory.New(), servertest.NewModel(t, 1))
	must(t, x.look(t.Context(), true)) // the search of an empty store
	clock := servertest.Now
	takes := func(user, item string) {
		clock = clock.Add(time.Minute)
		records := []store.Record{{User: user, Event: store.Event{
			ID: item, Item: item, Type: "like", Time: clock, Value: 1}}}
		x.follow(records, check.Get(x.Store.Append(t.Context(), records))(t))
	}
	for u := range model.MinNewUsers + 3 {
		takes(fmt.Sprint("early ", u), "old")
	}
	for u := range 200 {
		for i := range 4 {
			takes(fmt.Sprint("later ", u), servertest.Item(i))
		}
	}
	for u := range model.MinNewUsers + 3 {
		takes(fmt.Sprint("late ", u), "young")
	}
	expected := func() (old, young int64) {
		t.Helper()
		must(t, x.look(t.Context(), true))
		_, a := x.account(t)
		return a.Rows["old"].Item.Users, a.Rows["young"].Item.Users
	}
	old, young := expected()
	if old == 0 || young <= old {
		t.Errorf("%d users are expected of an old item, and %d of a young one with as many users",
			old, young)
	}
	if again, later := expected(); again != old || later != young {
		t.Errorf("%d and %d users are expected of items at the first look, and %d and %d at the "+
			"next", old, young, again, later)
	}
	_, a := x.account(t)
	base := x.base.Base()
	now := a.Samples.Census()
	counted := paceOf(a, base, now).expected(5, servertest.Now.Unix(), nil)
	for u := range 100 {
		a.Tally.Pending.Add(fmt.Sprint("waits ", u))
	}
	waits := paceOf(a, base, now).expected(5, servertest.Now.Unix(), nil)
	if waits == counted || waits > 5 {
		t.Errorf("%v users are expected of an item of 5 while many wait, %v before", waits, counted)
	}
}
