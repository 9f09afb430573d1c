package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store"
)

// Rows of the files as somebody else reads them.
type (
	exportedEvent struct {
		User  string     `parquet:"user_id"`
		Item  string     `parquet:"item_id"`
		Time  *time.Time `parquet:"timestamp,optional,timestamp(microsecond)"`
		Type  string     `parquet:"event_type"`
		Value float64    `parquet:"value"`
		ID    string     `parquet:"event_id"`
	}
	exportedUser struct {
		User   string     `parquet:"user_id"`
		Events int64      `parquet:"events"`
		First  *time.Time `parquet:"first_event,optional,timestamp(microsecond)"`
		Last   *time.Time `parquet:"last_event,optional,timestamp(microsecond)"`
	}
	exportedItem struct {
		ID         string             `parquet:"item_id"`
		Title      string             `parquet:"title"`
		Categories []string           `parquet:"categories,list"`
		Labels     []string           `parquet:"labels,list"`
		Hidden     bool               `parquet:"hidden"`
		From       *time.Time         `parquet:"available_from,optional,timestamp(microsecond)"`
		Until      *time.Time         `parquet:"available_until,optional,timestamp(microsecond)"`
		Embedding  []float32          `parquet:"embedding,list"`
		Numbers    map[string]float64 `parquet:"numbers"`
	}
)

func timeOr0(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// withoutNil is an item whose lists and numbers are empty where it has none.
func withoutNil(i store.Item) store.Item {
	i.Categories, i.Labels = append([]string{}, i.Categories...), append([]string{}, i.Labels...)
	i.Embedding = append([]float32{}, i.Embedding...)
	if i.Numbers == nil {
		i.Numbers = map[string]float64{}
	}
	return i
}

// exported reads the files of an export back.
func exported(t *testing.T, dir string) (map[string][]store.Event, []store.Item) {
	t.Helper()
	all := map[string][]store.Event{}
	for _, r := range check.Get(parquet.ReadFile[exportedEvent](
		filepath.Join(dir, "events.parquet")))(t) {
		all[r.User] = append(all[r.User], store.Event{ID: r.ID, Item: r.Item, Type: r.Type,
			Time: timeOr0(r.Time), Value: r.Value})
	}
	for _, u := range check.Get(parquet.ReadFile[exportedUser](
		filepath.Join(dir, "users.parquet")))(t) {
		var first, last time.Time
		for _, e := range all[u.User] {
			if first.IsZero() || !e.Time.IsZero() && e.Time.Before(first) {
				first = e.Time
			}
			if last.IsZero() || e.Time.After(last) {
				last = e.Time
			}
		}
		check.Same(t, fmt.Sprint(len(all[u.User]), first, last),
			fmt.Sprint(u.Events, timeOr0(u.First), timeOr0(u.Last)), "%q", u.User)
	}
	var items []store.Item
	for _, r := range check.Get(parquet.ReadFile[exportedItem](
		filepath.Join(dir, "items.parquet")))(t) {
		items = append(items, withoutNil(store.Item{ID: r.ID, Title: r.Title,
			Categories: r.Categories, Labels: r.Labels, Hidden: r.Hidden, From: timeOr0(r.From),
			Until: timeOr0(r.Until), Embedding: r.Embedding, Numbers: r.Numbers}))
	}
	return all, items
}

// TestExport reads what is written of each kind of store, with ids of any bytes.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	folder, valkey, postgres := filepath.Join(dir, "state"),
		valkeyURL(t, enginetest.Namespace()), postgresURL(t, enginetest.Namespace())
	s := openFolder(t, folder)
	fill(t, s)
	check.Must(t, s.PutItems(t.Context(), []store.Item{{ID: "full", Labels: []string{"l"},
		Until: time.Unix(5, 0), Embedding: []float32{1, -0.5}, Numbers: map[string]float64{"price": 3}}}))
	closeStore(t, s)
	histories, items := contents(t, openFolder(t, folder))
	for user, events := range histories {
		for i := range events { // to the microsecond
			if e := &events[i]; !e.Time.IsZero() {
				e.Time = time.UnixMicro(e.Time.UnixMicro()).UTC()
			}
		}
		histories[user] = events
	}
	for i := range items {
		items[i] = withoutNil(items[i])
	}
	for i, from := range []string{folder, valkey, postgres} {
		if from != folder {
			mustRun(t, "migrate", "--from", folder, "--to", from)
		}
		to := filepath.Join(dir, fmt.Sprint("out", i))
		said := strings.Join(strings.Fields(mustRun(t, "export", "--from", from, "--to", to)), " ")
		says(t, from, said, "users 150 ", "items 451 ")
		gotHistories, gotItems := exported(t, to)
		check.Same(t, histories, gotHistories, "histories of %s", from)
		check.Same(t, items, gotItems, "items of %s", from)
	}
}

// TestTrainFromExport: a training from exported events is one from the store, which a server
// goes on writing to.
func TestTrainFromExport(t *testing.T) {
	events, path := smallModel(t)
	dir := t.TempDir()
	state, out := filepath.Join(dir, "state"), filepath.Join(dir, "out")
	p := startServe(t, path, state)
	execute(t, "observe", "--data", events, "--server", p.GRPC)
	refused(t, cli.ExitFailure, state+" is in use by another process", "export", "--from", state,
		"--to", out)
	mustRun(t, "export", "--from", state, "--to", out, "--server", p.Admin)
	awaitNoCheckpoint(t, state)
	p.mustStop(t)
	train := func(from ...string) (hash string) {
		model := filepath.Join(dir, "m.gsimc")
		mustRun(t, append([]string{"train", "--rank", "16", "--out", model}, from...)...)
		return provenance(t, model, "data_hash")
	}
	file := []string{"--data", filepath.Join(out, "events.parquet"), "--type-column", "event_type"}
	check.Same(t, train("--from-store", state), train(file...), "hash of the events")
	weighed := []string{"--event-weight", "like=2"}
	check.Same(t, train(append(weighed, "--from-store", state)...),
		train(append(weighed, append(file, "--weight-column", "value")...)...), "hash with weights")

	refused(t, cli.ExitFailure, "--from: "+dir+"/none: no such file", "export", "--from",
		filepath.Join(dir, "none"), "--to", out)
	refused(t, cli.ExitUsage, "--server: a store that servers share is read without them", "export",
		"--from", "valkey://a:1/n", "--server", p.Admin, "--to", out)
	for _, inside := range []string{state, filepath.Join(state, "a")} {
		refused(t, cli.ExitUsage, "--to: "+inside+" is in the folder of the store or backup",
			"export", "--from", state, "--to", inside)
	}
	noFolder := writeFile(t, "file", "")
	refused(t, cli.ExitFailure, "--to: "+noFolder, "export", "--from", state, "--to", noFolder)
	for _, e := range check.Get(os.ReadDir(out))(t) {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s is left over", e.Name())
		}
	}
	check.Fails(t, check.Err(os.Stat(filepath.Join(dir, "none"))), fs.ErrNotExist,
		"the folder that is not there was made")
}
