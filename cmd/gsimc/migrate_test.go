package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// valkeyURL is a namespace of a cluster that tests share.
func valkeyURL(t testing.TB, namespace string) string {
	t.Helper()
	c := enginetest.SharedRedis(t, 3, 1)
	return "valkey://" + strings.Join(c.Addrs(), ",") + "/" + namespace + "?replicas=1"
}

// postgresURL is a database of the servers that tests share.
func postgresURL(t testing.TB, database string) string {
	t.Helper()
	p := enginetest.SharedPostgres(t, true)
	check.Must(t, p.Primary.SQL("CREATE DATABASE "+database))
	return p.URL(database) + "&pool_max_conns=4"
}

// openFolder opens the store of a folder.
func openFolder(t *testing.T, dir string) store.Items {
	t.Helper()
	s := check.Get(pebble.Open(context.Background(), dir, pebble.Options{}))(t)
	return s
}

// contents are all histories and items of a store, which it closes.
func contents(t *testing.T, s store.Items) (map[string][]store.Event, []store.Item) {
	t.Helper()
	defer closeStore(t, s)
	all := map[string][]store.Event{}
	var items []store.Item
	err := stores.Histories(context.Background(), s, func(user string, e []store.Event) error {
		all[user] = e
		return nil
	})
	if err == nil {
		err = s.EachItem(context.Background(), "", func(i store.Item) error {
			items = append(items, i.Clone())
			return nil
		})
	}
	check.Must(t, err)
	return all, items
}

func closeStore(t *testing.T, s store.Store) {
	t.Helper()
	check.Pass(t, s.Close(), "Close")
}

// fill writes histories with ids of any bytes, odd times and values, and some items.
func fill(t *testing.T, s store.Items) {
	t.Helper()
	ctx := context.Background()
	times := []time.Time{{}, time.Unix(-1, 5), time.Unix(1_700_000_000, 123_456_789)}
	values := []float64{1, -2.5, 0, math.Inf(1), math.SmallestNonzeroFloat64}
	for u := range 150 {
		user := fmt.Sprintf("user-%d\x00\xff", u)
		n := 1 + u%7
		if u == 3 {
			n = 2500
		}
		var records []store.Record
		for i := range n {
			records = append(records, store.Record{User: user, Event: store.Event{
				ID: fmt.Sprintf("e\x00%d", i), Item: fmt.Sprintf("item-%d\xfe", (u+i)%20),
				Type: []string{"", "view", "\x00"}[i%3], Time: times[(u+i)%3],
				Value: values[(u+i)%5]}})
		}
		check.Get(s.Append(ctx, records))(t)
	}
	var items []store.Item
	for i := range 450 {
		items = append(items, store.Item{ID: fmt.Sprintf("item-%d\xfe", i),
			Title: fmt.Sprint("title ", i), Categories: []string{"a", "b\x00"}, Hidden: i%2 == 0,
			From: time.UnixMicro(int64(i)).UTC()})
	}
	check.Must(t, s.PutItems(ctx, items))
}

// TestMigrate takes a store through all engines and back, and finds everything as it was.
func TestMigrate(t *testing.T) {
	dir := t.TempDir()
	first, last := filepath.Join(dir, "first"), filepath.Join(dir, "last")
	valkey, postgres := valkeyURL(t, enginetest.Namespace()),
		postgresURL(t, enginetest.Namespace())
	s := openFolder(t, first)
	fill(t, s)
	closeStore(t, s)
	wantHistories, wantItems := contents(t, openFolder(t, first))
	migrate := func(from, to string) string {
		t.Helper()
		return mustRun(t, "migrate", "--from", from, "--to", to)
	}
	for _, step := range [][2]string{{first, valkey}, {valkey, postgres}, {postgres, last}} {
		says(t, "migrate", migrate(step[0], step[1]), "all are equal")
	}
	histories, items := contents(t, openFolder(t, last))
	check.Same(t, wantHistories, histories, "histories")
	check.Same(t, wantItems, items, "items")
	// Again nothing is copied; what was added to the source is.
	copied := func(n int) {
		t.Helper()
		says(t, "migrate", strings.Join(strings.Fields(migrate(first, postgres)), " "),
			fmt.Sprint("copied now ", n))
	}
	copied(0)
	s = openFolder(t, first)
	check.Get(s.Append(t.Context(), []store.Record{
		{User: "user-3\x00\xff", Event: store.Event{ID: "new", Item: "i"}},
		{User: "new", Event: store.Event{ID: "new", Item: "i"}}}))(t)
	closeStore(t, s)
	copied(2)
}

// TestMigrateRefuses gives a target with something that the source has not.
func TestMigrateRefuses(t *testing.T) {
	event := func(id string) store.Event { return store.Event{ID: id, Item: "i", Value: 1} }
	for name, c := range map[string]struct {
		spoil func(t *testing.T, to store.Items) error
		want  string
	}{
		"another order": {func(t *testing.T, to store.Items) error {
			_, err := to.Append(t.Context(), []store.Record{{User: "u", Event: event("2")}})
			return err
		}, "no beginning"},
		"a longer history": {func(t *testing.T, to store.Items) error {
			_, err := to.Append(t.Context(), []store.Record{{User: "u", Event: event("1")},
				{User: "u", Event: event("2")}, {User: "u", Event: event("3")}})
			return err
		}, "no beginning"},
		"another item": {func(t *testing.T, to store.Items) error {
			return to.PutItems(t.Context(), []store.Item{{ID: "i", Title: "other"}})
		}, "items that --from has not"},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
			s := openFolder(t, from)
			_, err := s.Append(t.Context(), []store.Record{{User: "u", Event: event("1")},
				{User: "u", Event: event("2")}})
			if err == nil {
				err = s.PutItems(t.Context(), []store.Item{{ID: "i", Title: "title"}})
			}
			check.Must(t, err)
			closeStore(t, s)
			s = openFolder(t, to)
			check.Must(t, c.spoil(t, s))
			closeStore(t, s)
			before, _ := contents(t, openFolder(t, to))
			refused(t, cli.ExitFailure, c.want, "migrate", "--from", from, "--to", to)
			after, _ := contents(t, openFolder(t, to))
			check.Same(t, before, after, "the target was written to")
		})
	}
}

// TestTrainFromSharedStores trains from the same events in a folder, in a cluster and in a
// database: the files are equal. The name of the store is in their provenance, so it is the same.
func TestTrainFromSharedStores(t *testing.T) {
	events, path := smallModel(t)
	dir := filepath.Join(t.TempDir(), "state")
	p := startServe(t, path, dir)
	execute(t, "observe", "--data", events, "--server", p.GRPC)
	p.mustStop(t)
	train := func(from string) string {
		t.Helper()
		out := filepath.Join(t.TempDir(), "model.gsimc")
		mustRunIn(t, []string{"SOURCE_DATE_EPOCH=1700000000"}, "train", "--from-store", from,
			"--rank", "16", "--out", out)
		return mustRead(t, out)
	}
	want := train(dir)
	for name, url := range map[string]func(testing.TB, string) string{"valkey": valkeyURL,
		"postgres": postgresURL} {
		t.Run(name, func(t *testing.T) {
			shared := url(t, "state")
			mustRun(t, "migrate", "--from", dir, "--to", shared)
			check.Same(t, want, train(shared), "the model of the folder")
		})
	}
}
