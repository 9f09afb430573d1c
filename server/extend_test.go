package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// extending makes a setup extend every few milliseconds.
func extending(cfg *Config) { cfg.ExtendEvery = 5 * time.Millisecond }

const novelty = "novelty" // an item that no model knows

// showNovelty lets users, who have events on known items, take the new one.
func (ts *testServer) showNovelty(t *testing.T, users int) {
	t.Helper()
	for u := range users {
		for i := range 4 {
			ts.observe(t, newEvent(fmt.Sprintf("u%d", u), (u+i)%8))
		}
		ts.observe(t, &pb.Event{UserId: fmt.Sprintf("u%d", u), ItemId: novelty})
	}
}

// awaitExtension waits until the serving model meets the condition.
func (ts *testServer) awaitExtension(t *testing.T, ok func(m *model.Model) bool) {
	t.Helper()
	eventually(t, "the model is extended", func() bool {
		l := ts.arms.Main().Models.Acquire()
		defer l.Release()
		return ok(l.Model)
	})
}

func knows(id string) func(m *model.Model) bool {
	return func(m *model.Model) bool { _, known := m.ItemIndex(id); return known }
}

func page(req *pb.RecommendRequest, size int32) *pb.RecommendRequest {
	req.PageSize = size
	return req
}

// A new item is pending until two users have it; then it is part of the states of those who waited,
// of lists and filters.
func TestNewItemsJoin(t *testing.T) {
	overModels(t, func(t *testing.T, open opened) {
		ts := start(t, setup{config: extending, open: open})
		first := ts.observe(t, &pb.Event{UserId: "u0", ItemId: novelty})
		if first.GetDisposition() != pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM {
			t.Fatalf("disposition %v of the first event on a new item, want PENDING_ITEM",
				first.GetDisposition())
		}
		ts.showNovelty(t, 5)
		ts.awaitExtension(t, knows(novelty))

		again := ts.observe(t, &pb.Event{UserId: "u9", ItemId: novelty, EventId: "again"})
		check.Same(t, pb.EventDisposition_EVENT_DISPOSITION_APPLIED, again.GetDisposition(),
			"disposition of an event on an item that the model was extended by")
		user := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "u0"}).GetUser()
		same(t, int64(0), user.GetPendingEventCount(), "pending events")
		if ids := itemIDs(ts.ask(t, page(forHistory(0, 1, 2), 100))); !slices.Contains(ids,
			novelty) {
			t.Errorf("the new item is not among the recommendations %v", ids)
		}
		if ids := itemIDs(ts.ask(t, page(forUser("u0"), 100))); slices.Contains(ids, novelty) {
			t.Error("the new item is recommended to a user who has it")
		}
		req := forHistory(0, 1, 2)
		req.Filter = &pb.ItemFilter{AllowItemIds: []string{novelty}}
		resp := ts.ask(t, req)
		if diff := cmp.Diff([]string{novelty}, itemIDs(resp)); diff != "" ||
			len(resp.GetUnknownItemIds()) != 0 {
			t.Errorf("only the new item was allowed; unknown %v (-want +got):\n%s",
				resp.GetUnknownItemIds(), diff)
		}
		check.Has(t, resp.GetModelVersion(), "+", "version of an extended model")
	}, "paper", "learned")
}

// After the extension the state of a user who waited is what a replay gives.
func TestWaitingEventsJoinStates(t *testing.T) {
	ts := start(t, setup{config: extending})
	ts.showNovelty(t, 3)
	ts.awaitExtension(t, knows(novelty))
	h := &pb.InlineHistory{}
	for i := range 4 {
		h.Entries = append(h.Entries, &pb.HistoryEntry{ItemId: item(i)})
	}
	h.Entries = append(h.Entries, &pb.HistoryEntry{ItemId: novelty})
	var want, got *pb.RecommendResponse
	eventually(t, "no extension comes between the two", func() bool {
		want = ts.ask(t, &pb.RecommendRequest{Subject: &pb.RecommendRequest_History{History: h}})
		got = ts.ask(t, forUser("u0"))
		return got.GetModelVersion() == want.GetModelVersion()
	})
	scores := func(r *pb.RecommendResponse) (s []float64) {
		for _, i := range r.GetItems() {
			s = append(s, i.GetScore())
		}
		return s
	}
	if !cmp.Equal(itemIDs(got), itemIDs(want)) || !cmp.Equal(scores(got), scores(want)) {
		t.Errorf("user: %v %v\ninline history: %v %v", itemIDs(got), scores(got), itemIDs(want),
			scores(want))
	}
}

// A server that starts on a store with events on new items finds them, and so does one that gets
// another model.
func TestExtensionAfterRestartAndReload(t *testing.T) {
	st := memory.New()
	ts := start(t, setup{store: st})
	ts.showNovelty(t, 3)
	ts.shutdown(t)

	var seed atomic.Uint64
	ts = start(t,
		setup{store: st, config: func(c *Config) { c.ExtendEvery = time.Hour },
			open: func() (*model.Model, error) {
				return newModel(t, seed.Add(1)), nil
			}})
	ts.awaitExtension(t, knows(novelty))
	l := ts.arms.Main().Models.Acquire()
	before := l.Base().Version()
	l.Release()
	must(t, ts.Reload(ctx(t)))
	ts.awaitExtension(t,
		func(m *model.Model) bool { return m.Base().Version() != before && knows(novelty)(m) })
}

// The first call after a restart meets what served before: the file is read before calls are taken.
func TestFirstCallMeetsWhatWasKept(t *testing.T) {
	st, dir := memory.New(), t.TempDir()
	var cfg Config
	ts := start(t, setup{store: st, config: func(c *Config) {
		extending(c)
		c.ExtensionDir = dir
		cfg = *c
	}})
	ts.showNovelty(t, 3)
	ts.awaitExtension(t, knows(novelty))
	before := ts.settledVersion(t)
	ts.shutdown(t)
	again := check.Get(New(cfg, st, named(t, "paper")))(t)
	t.Cleanup(again.closeModels)
	l := again.arms.Main().Models.Acquire()
	defer l.Release()
	check.Same(t, before, l.Version(), "model of a server that does not serve yet")
}

// A start removes what arms have kept that there are no more, and nothing else.
func TestRemovedArmsKeepNothing(t *testing.T) {
	dir := t.TempDir()
	stay := []string{"extension", "extension.main", "extension.b", "extension.main.bak",
		"extension.Old", "my.extension.old", "old", ".extension.old", ".extension.old.tmp",
		".extension.old.7.bak", ".extension.main.7.tmp"}
	for _, name := range append(stay, "extension.old", "extension.a-b_2",
		".extension.old.7.tmp", ".extension.alone.7.tmp") { // by processes that were killed
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("kept"), 0o600))
	}
	must(t, os.Mkdir(filepath.Join(dir, "extension.folder"), 0o700))
	ts := start(t, withArm(t, memory.New(), 50,
		func(c *Config) { c.ExtensionDir, c.ExtendEvery = dir, 0 }))
	var left []string
	for _, e := range check.Get(os.ReadDir(dir))(t) {
		left = append(left, e.Name())
	}
	want := append(stay, "extension.folder")
	slices.Sort(want)
	same(t, want, left, "files")
	same(t, 2, strings.Count(ts.logs.String(), "new items of an arm that is no more removed"),
		"lines of the log")
}

// Extensions and reloads of other files under load: every answer is whole, and no memory is read
// after it was unmapped.
func TestExtensionUnderLoad(t *testing.T) {
	paths, _ := modelFiles(t)
	var opened atomic.Uint64
	ts := start(t, setup{
		config: func(c *Config) { c.ExtendEvery = time.Millisecond; c.QualitySample = 1 },
		open:   func() (*model.Model, error) { return model.Open(paths[opened.Add(1)%2]) },
	})
	var load sync.WaitGroup
	stop := make(chan struct{})
	for w := range 4 {
		load.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				user := fmt.Sprintf("w%d-%d", w, i%7)
				ts.observe(t, newEvent(user, i%testItems))
				ts.observe(t, &pb.Event{UserId: user, ItemId: fmt.Sprintf("new-%d", i%23)})
				if n := len(ts.ask(t, page(forUser(user), 5)).GetItems()); n == 0 {
					t.Error("an empty answer")
				}
			}
		})
	}
	for range 5 {
		ts.awaitExtension(t, func(m *model.Model) bool { return m.NumItems() > testItems })
		old := ts.ModelVersion()
		if err := ts.Reload(ctx(t)); err != nil {
			t.Error(err)
		}
		if ts.ModelVersion() == old {
			t.Error("the same model serves after a reload of another file")
		}
	}
	close(stop)
	load.Wait()
}

func TestExtensionMetrics(t *testing.T) {
	ts := start(t, setup{config: extending})
	ts.showNovelty(t, 2)
	ts.awaitExtension(t, knows(novelty))
	eventually(t, "the metrics tell of the extension", func() bool {
		_, text := ts.get(t, "/metrics")
		return strings.Contains(text, "gsimc_extended_items 1\n") &&
			strings.Contains(text, "gsimc_new_items 1\n") &&
			strings.Contains(text, "gsimc_extension_seconds_count") &&
			strings.Contains(text, fmt.Sprintf("gsimc_model_items %d\n", testItems+1))
	})
}

// Many new items that two users of a small store have take few places of known ones on the lists of
// others.
func TestNewItemsLeaveRoom(t *testing.T) {
	const users, items = 4, 24
	st := memory.New()
	takes := func(user int, item string) {
		check.Get(st.Append(t.Context(), []store.Record{{User: fmt.Sprint("user-", user),
			Event: store.Event{ID: item, Item: item, Type: "like", Value: 1,
				Time: servertest.Now}}}))(t)
	}
	for u := range users {
		for i := range 5 {
			takes(u, item(u+i))
		}
	}
	for n := range items {
		for u := range 2 {
			takes((n+u)%users, fmt.Sprint("new-", n))
		}
	}
	ts := start(t, setup{config: extending, store: st})
	for n := range items {
		ts.awaitExtension(t, knows(fmt.Sprint("new-", n)))
	}
	const places = 10
	taken := 0
	for i := range testItems {
		history := forHistory(i, (i+1)%testItems, (i+7)%testItems)
		for _, id := range itemIDs(ts.ask(t, page(history, places))) {
			if strings.HasPrefix(id, "new-") {
				taken++
			}
		}
	}
	if all := places * testItems; taken > all/20 { // as popular as their users alone: 37 of 300
		t.Errorf("new items take %d of %d places", taken, all)
	}
}
