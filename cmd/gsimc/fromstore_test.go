package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// provenance returns an entry of the provenance of a model file.
func provenance(t *testing.T, path, key string) string {
	t.Helper()
	m := check.Get(model.Open(path))(t)
	defer m.Close()
	return m.Spec().Provenance[key]
}

// TestTrainFromStore streams a file of events to a server and trains from its store, while it runs
// and after it has stopped: the events are those of the file.
func TestTrainFromStore(t *testing.T) {
	events, path := smallModel(t)
	want := provenance(t, path, "data_hash")
	dir, out := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "new.gsimc")
	p := startServe(t, path, dir)
	execute(t, "observe", "--data", events, "--server", p.GRPC)

	train := []string{"train", "--from-store", dir, "--rank", "16", "--out", out}
	refused(t, cli.ExitFailure, dir+" is in use by another process: if that is a server, give its "+
		"address with --server", train...)
	mustRun(t, append(train, "--server", p.Admin)...)
	check.Same(t, want, provenance(t, out, "data_hash"), "hash of the events of the running server")
	awaitNoCheckpoint(t, dir)
	refused(t, cli.ExitFailure, "give the data folder of that server", "train", "--from-store",
		t.TempDir(), "--server", p.Admin, "--out", out)
	p.mustStop(t)

	mustRun(t, train...)
	check.Same(t, want, provenance(t, out, "data_hash"), "hash of the events of the stopped server")
	check.Has(t, provenance(t, out, "command"), "--from-store state --min-user-events 0",
		"the command")
	startServe(t, out, dir).mustStop(t) // nothing was done to the folder that a server takes amiss
}

// awaitNoCheckpoint waits until there is no checkpoint in a data folder.
func awaitNoCheckpoint(t *testing.T, dir string) {
	t.Helper()
	var left []os.DirEntry
	if !eventually(func() bool {
		left = check.Get(os.ReadDir(filepath.Join(dir, "checkpoints")))(t)
		return len(left) == 0
	}) {
		t.Fatalf("checkpoints are left: %v", left)
	}
}

// The quality of a model is that of lists without what the catalogue of the store hides: of the ten
// other items all are found. So is a comparison: of the 100 users that it takes, many go on to a
// hidden item.
func TestTrainHidesByTheStore(t *testing.T) {
	dir := t.TempDir()
	st := check.Get(pebble.Open(context.Background(), dir, pebble.Options{}))(t)
	item := func(i int) string { return fmt.Sprintf("item %02d", i%24) }
	var records, later []store.Record
	for u := range 400 {
		for i := range 7 {
			e := store.Event{ID: fmt.Sprint(i), Item: item(u + i*(1+u%5)), Time: time.Unix(int64(i), 0),
				Value: 1}
			records = append(records, store.Record{User: fmt.Sprintf("user %03d", u), Event: e})
		}
		last := len(records) - 1
		records, later = records[:last], append(later, records[last])
	}
	var hidden []store.Item
	for i := range 14 {
		hidden = append(hidden, store.Item{ID: item(i), Hidden: true})
	}
	check.Get(st.Append(t.Context(), records))(t)
	check.Must(t, st.PutItems(t.Context(), hidden))
	check.Must(t, st.Close())
	model := filepath.Join(t.TempDir(), "m.gsimc")
	args := []string{"train", "--from-store", dir, "--rank", "4", "--quick", "--out", model}
	out := mustRun(t, args...)
	check.Same(t, 2, strings.Count(out, "HR@10 1.0000"), "full marks in: %s", out)
	says(t, "hidden items", out, "14 of the items, by the catalogue of the store: learned from,")

	st = check.Get(pebble.Open(t.Context(), dir, pebble.Options{}))(t)
	check.Get(st.Append(t.Context(), later))(t)
	check.Must(t, st.Close())
	out = mustRun(t, append(args, "--compare", model)...)
	check.Same(t, true, strings.Contains(out, " 42 recent events"), "42 events in: %s", out)
}

// TestStoreWeights trains from events of two types, of which one counts for nothing.
func TestStoreWeights(t *testing.T) {
	dir := t.TempDir()
	st := check.Get(pebble.Open(context.Background(), dir, pebble.Options{}))(t)
	var records []store.Record
	for u := range 12 {
		for i := range 6 {
			e := store.Event{ID: string(rune('a' + i)), Item: "item " + string(rune('a'+(u+i)%8)),
				Type: "buy", Time: time.Unix(int64(i), 0), Value: 1}
			switch i {
			case 4:
				e.Type = "view"
			case 5:
				e.Value = -1
				if u == 0 {
					e.Value = 1e-60 // 0 in float32
				}
			}
			records = append(records, store.Record{User: "user " + string(rune('a'+u)), Event: e})
		}
	}
	check.Get(st.Append(t.Context(), records))(t)
	check.Must(t, st.Close())
	out := filepath.Join(t.TempDir(), "m.gsimc")
	for weight, want := range map[string]string{
		"view=0": "72 (0 bad, 0 repeated, 0 filtered, 24 of a weight that is not above 0)",
		"view=2": "72 (0 bad, 0 repeated, 0 filtered, 12 of a weight that is not above 0)",
	} {
		says(t, weight, mustRun(t, "train", "--from-store", dir, "--rank", "2", "--event-weight",
			weight, "--out", out), want)
	}
	_, stderr := mustRunIn(t, nil, "train", "--from-store", dir, "--rank", "2", "--out", out,
		"--event-weight", "view=2,vieww=3")
	says(t, "a type without events", stderr,
		"note: no event has a type vieww, of which --event-weight says the weight")
	for _, c := range []struct{ flags, want string }{
		{"--event-weight view=0,buy=0", "no interactions: 72 events"},
		{"--event-weight view=5000",
			`--event-weight: weight of "view" is 5000, want a number from -1000 to 1000`},
		{"--data x.csv", "--from-store: leave out --data"},
		{"--server 127.0.0.1:1", "cannot connect to 127.0.0.1:1"},
	} {
		args := append([]string{"train", "--from-store", dir, "--out", out},
			strings.Fields(c.flags)...)
		if code, _, stderr := runCLI(t, nil, args...); code == cli.ExitOK ||
			!strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, stderr %q, want %q", c.flags, code, stderr, c.want)
		}
	}
	absent := filepath.Join(dir, "absent")
	refused(t, cli.ExitFailure, "--from-store: "+absent+": no such file", "train", "--from-store",
		absent, "--out", out)
}
