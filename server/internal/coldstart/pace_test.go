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
		row.Since, row.Item.Users = ledger.Unknown, 1
		a.Rows[id] = row
	}
	a.Tallied = false
	before := paceOf(a, l.Base(), samples.Census{Users: 1})
	if settled, n := before.settles(&ledger.Row{}, 9), before.expected(9, 0, nil); !settled || n != 9 {
		t.Errorf("before histories are counted, rows stay: %t, and of 9 users %v are expected",
			settled, n)
	}
	if again := looks(); again["young"] != then["young"] || again["old"] != then["old"] {
		t.Errorf("at another server %v are expected, want %v", again, then)
	}
}
