package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// described is an item with content of its own, and what the others of a shelf have too.
func described(id string, shelf int) *pb.Item {
	return &pb.Item{ItemId: id, Title: "a title " + id, Labels: []string{"known"},
		Categories: []string{fmt.Sprint("shelf ", shelf)}}
}

// describe writes the items of the model to the catalogue, four to a shelf, and further ones.
func (ts *testServer) describe(t testing.TB, further ...*pb.Item) {
	t.Helper()
	for i := range testItems {
		further = append(further, described(item(i), i/4))
	}
	ts.put(t, further...)
}

// usual lets servers extend their models as they do by default.
func usual(cfg *Config) { cfg.ExtendEvery = DefaultConfig().ExtendEvery }

// TestItemsBeforeAnybodyHasThem writes items that no event names: within seconds they are on lists,
// explained, scored and filtered like any other item, until they are hidden or deleted.
func TestItemsBeforeAnybodyHasThem(t *testing.T) {
	t.Parallel()
	overModels(t, func(t *testing.T, open opened) {
		t.Parallel()
		ts := start(t, setup{config: usual, open: open})
		ts.describe(t, described(novelty, 2), described("hid", 2),
			&pb.Item{ItemId: "unlike", Title: "unlike"})
		began := time.Now()
		ts.awaitExtension(t, func(m *model.Model) bool {
			return knows(novelty)(m) && knows("hid")(m) && !knows("unlike")(m)
		})
		t.Logf("on lists after %v", time.Since(began))
		ts.checkNovelty(t)

		seen := ts.observe(t, &pb.Event{UserId: "ann", ItemId: novelty})
		if d := seen.GetDisposition(); d != pb.EventDisposition_EVENT_DISPOSITION_APPLIED {
			t.Errorf("the first event on the item is %v", d)
		}
		if slices.Contains(itemIDs(ts.ask(t, page(forUser("ann"), 100))), novelty) {
			t.Error("a user is shown an item again")
		}
		hidden := described("hid", 2)
		hidden.Hidden = new(bool)
		*hidden.Hidden = true
		ts.put(t, hidden)
		ts.awaitExtension(t, func(m *model.Model) bool { return !knows("hid")(m) })
		reply(t, ts.items.BatchDeleteItems,
			&pb.BatchDeleteItemsRequest{ItemIds: []string{novelty}})
		ts.awaitExtension(t, func(m *model.Model) bool { return !knows(novelty)(m) })
	}, "paper", "learned", "tastes")
}

// checkNovelty checks an item of shelf 2 that nobody has, on all kinds of lists.
func (ts *testServer) checkNovelty(t *testing.T) {
	t.Helper()
	shelf := &pb.ItemFilter{AnyCategories: []string{"shelf 2"}}
	req := explaining(page(forHistory(8, 9), 100), 3)
	req.Filter = shelf
	list := ts.ask(t, req)
	on := []string{"hid", item(10), item(11), novelty}
	same(t, on, slices.Sorted(slices.Values(itemIDs(list))), "a shelf")
	scored := reply(t, ts.recommend.ScoreItems, &pb.ScoreItemsRequest{ItemIds: on,
		Subject: &pb.ScoreItemsRequest_History{History: req.GetHistory()}})
	for _, r := range list.GetItems() {
		checkExplanation(t, r, 2)
		like := r.GetExplanation().GetLikeItemIds()
		known := strings.HasPrefix(r.GetItemId(), "item")
		if n := len(like); known && n > 0 || !known && n < 4 {
			t.Errorf("%s is like %v", r.GetItemId(), like)
		}
		if got := scored.GetItems()[slices.Index(on, r.GetItemId())]; got.GetScore() !=
			r.GetScore() {
			t.Errorf("scored %v, listed %v", got, r)
		}
	}
	if !slices.Contains(itemIDs(ts.ask(t, page(forHistory(1), 100))), novelty) {
		t.Error("an item that nobody has is not listed")
	}
	if similar := ts.similar(t, &pb.SimilarItemsRequest{ItemId: novelty,
		PageSize: 5}); len(similar.GetItems()) != 5 {
		t.Errorf("similar to the item are %v", similar.GetItems())
	}
}

// TestEmbeddingsSayWhatIsAlike: a new item is like those that its embedding is nearest to, whatever
// its texts say.
func TestEmbeddingsSayWhatIsAlike(t *testing.T) {
	t.Parallel()
	ts := start(t, setup{config: usual})
	pointing := func(i *pb.Item, shelf int) *pb.Item {
		i.Embedding = make([]float32, testItems/4+1)
		i.Embedding[shelf] = 1
		return i
	}
	known := make([]*pb.Item, testItems)
	for i := range known {
		known[i] = pointing(described(item(i), i/4), i/4)
	}
	ts.put(t, known...)
	ts.put(t, pointing(described(novelty, 2), 5))
	ts.awaitExtension(t, knows(novelty))
	req := explaining(page(forHistory(8, 9), 100), 3)
	req.Filter = &pb.ItemFilter{AllowItemIds: []string{novelty}}
	like := ts.ask(t, req).GetItems()[0].GetExplanation().GetLikeItemIds()
	same(t, []string{item(20), item(21), item(22), item(23)}, slices.Sorted(slices.Values(like)),
		"the item is like others")
}

// An explanation does not tell of items that nobody may see.
func TestExplanationsNameNoHiddenItems(t *testing.T) {
	t.Parallel()
	ts := start(t, setup{config: usual})
	ts.describe(t, described(novelty, 2))
	ts.awaitExtension(t, knows(novelty))
	hidden := described(item(10), 2)
	hidden.Hidden = proto.Bool(true)
	ts.put(t, hidden)
	for _, r := range ts.ask(t, explaining(page(forHistory(8, 9), 100), 3)).GetItems() {
		like := r.GetExplanation().GetLikeItemIds()
		if r.GetItemId() == novelty && !slices.Contains(like, item(11)) ||
			slices.Contains(like, item(10)) {
			t.Errorf("%s is like %v", r.GetItemId(), like)
		}
	}
}

// TestContentIsTurnedOff: without an extension, and without a catalogue, a server answers as it did
// before there was content.
func TestContentIsTurnedOff(t *testing.T) {
	t.Parallel()
	off := start(t, setup{})
	off.describe(t, described(novelty, 2))
	none := start(t, setup{config: extending})
	alone := start(t, setup{config: extending})
	alone.describe(t) // nothing new
	for _, ts := range []*testServer{off, none, alone} {
		if list := ts.ask(t, forHistory(8, 9)); list.GetModelVersion() != newModel(t, 1).Version() ||
			listOf(list) != listOf(off.ask(t, forHistory(8, 9))) {
			t.Errorf("model %s, %s", list.GetModelVersion(), listOf(list))
		}
	}
}

// TestContentAfterRestart: what items borrow follows from the catalogue and the model. A server that
// starts again has the same version, and gives the same lists.
func TestContentAfterRestart(t *testing.T) {
	t.Parallel()
	st := memory.New()
	ts := start(t, setup{store: st, config: extending})
	ts.put(t, described("early", 1)) // a row by no known items, and by the index of a few
	ts.describe(t, described("later", 3), described(novelty, 2))
	all := func(m *model.Model) bool {
		return knows("early")(m) && knows("later")(m) && knows(novelty)(m)
	}
	ts.awaitExtension(t, all)
	ts.put(t, described(item(3), 1), described("later", 4))
	settled := ts.settledVersion(t)
	before := ts.ask(t, page(forHistory(8, 9, 10), 100))
	ts.shutdown(t)
	ts = start(t, setup{store: st, config: usual})
	ts.awaitExtension(t, all)
	after := ts.ask(t, page(forHistory(8, 9, 10), 100))
	if before.GetModelVersion() != settled || after.GetModelVersion() != settled ||
		listOf(before) != listOf(after) {
		t.Errorf("version %s was %s (-before +after):\n%s", after.GetModelVersion(), settled,
			cmp.Diff(listOf(before), listOf(after)))
	}
}

// settledVersion is the version of the model once it has not changed for a while.
func (ts *testServer) settledVersion(t testing.TB) (version string) {
	t.Helper()
	since := time.Now()
	eventually(t, "the model stays", func() bool {
		if now := ts.version(t); now != version {
			version, since = now, time.Now()
		}
		return time.Since(since) > time.Second
	})
	return version
}

// TestContentOfSharedStores writes items at one of three servers: all of them list these, in one
// version and equal to the bit, whoever owns the extension; and so do those that are left when the
// owner ends.
func TestContentOfSharedStores(t *testing.T) {
	t.Parallel()
	const users = 30
	overSharedStores(t, func(t *testing.T, open func() store.Shared) {
		servers := startTogether(t, setup{}, open, 3)
		for u := range users {
			servers[u%3].observe(t, newEvent(fmt.Sprint("user-", u), u%testItems))
		}
		for n, id := range []string{"first", "second", "third"} {
			servers[n].describe(t, described(id, n))
			t.Logf("all servers have the item after %v", awaitAlike(t, servers, id, true))
		}
		checkEqualLists(t, servers, users)
		servers[0].shutdown(t)
		servers = servers[1:]
		servers[1].put(t, described("fourth", 3))
		awaitAlike(t, servers, "fourth", true)
		for _, id := range []string{"first", "second", "third"} {
			awaitAlike(t, servers, id, true)
		}
		checkEqualLists(t, servers, users)
		reply(t, servers[0].items.BatchDeleteItems,
			&pb.BatchDeleteItemsRequest{ItemIds: []string{"fourth"}})
		awaitAlike(t, servers, "fourth", false)
	})
}
