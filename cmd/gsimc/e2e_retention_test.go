package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// retainedUsers have events of old and of young, in turns.
const retainedUsers, retainedEvents = 3000, 6

// kill -9 in the middle of a pass over old events, over and over: each history has all of its
// events or the young ones, and a server that is left alone takes out the rest.
func TestKillNineWhileOldEventsLeave(t *testing.T) {
	t.Parallel()
	_, modelFile := smallModel(t)
	dir := t.TempDir()
	fillRetained(t, dir)
	rng := rand.New(rand.NewPCG(3, 4))
	args := []string{"--extend-every", "0s", "--retain", "400d", "--retain", "view=30d"}
	kills, hits, before := 0, 0, 0
	for ; kills < soak.Times(5) && before < retainedUsers; kills++ {
		server := startServe(t, modelFile, dir, args...)
		check.Await(t, "the first events are taken out", func() bool {
			return server.metrics(t)["gsimc_retention_events_total"] > 0
		})
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
		check.Must(t, server.Kill())
		swept := countSwept(t, dir)
		if swept <= before {
			t.Fatalf("%d histories had no old events, and %d have after kill %d", before, swept, kills)
		}
		if swept < retainedUsers {
			hits++
		}
		before = swept
	}
	soak.Injected(t, kills, "kills")
	if hits == 0 {
		t.Fatalf("none of %d kills hit a pass", kills)
	}
	server := startServe(t, modelFile, dir, args...)
	server.awaitLog(t, "old events are out of the store", 1)
	server.mustStop(t)
	check.Same(t, retainedUsers, countSwept(t, dir), "histories without old events")
}

func fillRetained(t *testing.T, dir string) {
	t.Helper()
	st := check.Get(pebble.Open(t.Context(), dir, pebble.Options{}))(t)
	var records []store.Record
	for u := range retainedUsers {
		for i := range retainedEvents {
			e := store.Event{ID: fmt.Sprint(i), Item: fmt.Sprint("i", i), Type: "like", Value: 1,
				Time: time.Now().Add(-time.Hour)}
			switch i % 4 {
			case 1:
				e.Time = e.Time.AddDate(-2, 0, 0)
			case 2:
				e.Type, e.Time = "view", e.Time.AddDate(0, -2, 0)
			}
			records = append(records, store.Record{User: fmt.Sprint("user ", u), Event: e})
		}
	}
	check.Get(st.Append(t.Context(), records))(t)
	check.Must(t, st.Close())
}

// countSwept counts the histories without old events. The others must be whole.
func countSwept(t *testing.T, dir string) (swept int) {
	t.Helper()
	st := check.Get(pebble.Open(t.Context(), dir, pebble.Options{}))(t)
	defer func() { check.Must(t, st.Close()) }()
	for u := range retainedUsers {
		var ids []string
		_, _, err := st.Since(t.Context(), fmt.Sprint("user ", u), store.Version{},
			func(_ store.Version, e store.Event) error {
				ids = append(ids, e.ID)
				return nil
			})
		check.Must(t, err)
		switch {
		case slices.Equal(ids, []string{"0", "3", "4"}):
			swept++
		case !slices.Equal(ids, []string{"0", "1", "2", "3", "4", "5"}):
			t.Fatalf("user %d has the events %v", u, ids)
		}
	}
	return swept
}
