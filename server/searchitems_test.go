package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// foundIDs are the ids of an answer, with a mark for items that the model does not know.
func foundIDs(found []*pb.KnownItem) (ids []string) {
	for _, k := range found {
		id := k.GetItem().GetItemId()
		if !k.GetInModel() {
			id += "?"
		}
		ids = append(ids, id)
	}
	return ids
}

// A search finds what the model and the catalogue know, each item once and in the order of the ids.
func TestSearchItems(t *testing.T) {
	ts := start(t, setup{})
	first := item(1)
	ts.put(t, &pb.Item{ItemId: first, Categories: []string{"c"}, Hidden: proto.Bool(true)},
		&pb.Item{ItemId: first + "-b"}, &pb.Item{ItemId: first + "-a"}, &pb.Item{ItemId: "zz"},
		&pb.Item{ItemId: "a-lamp", Title: "Zzaubervolle Lampe"},
		&pb.Item{ItemId: item(5), Title: "Alte LAMPE aus Öl"},
		&pb.Item{ItemId: "lampe", Title: "Lampe"})
	search := func(query string, size int32) []*pb.KnownItem {
		t.Helper()
		return reply(t, ts.items.SearchItems,
			&pb.SearchItemsRequest{Query: query, PageSize: size}).GetItems()
	}
	for _, test := range []struct {
		query string
		size  int32
		want  []string
	}{
		{first, 0, []string{first, first + "-a?", first + "-b?"}},
		{first, 2, []string{first, first + "-a?"}},
		{first + "-b", 0, []string{first + "-b?"}},
		{"zz", 0, []string{"zz?", "a-lamp?"}},
		{"zz", 1, []string{"zz?"}},
		{"lampe", 0, []string{"lampe?", "a-lamp?", item(5)}},
		{"lampe", 2, []string{"lampe?", "a-lamp?"}},
		{"AUS ö", 0, []string{item(5)}},
		{"zzz", 0, nil},
		{item(29), 5, []string{item(29)}},
	} {
		same(t, test.want, foundIDs(search(test.query, test.size)), "%d items that begin with %q",
			test.size, test.query)
	}
	m := ts.arms.Main().Models.Acquire()
	defer m.Release()
	var popular []string
	for _, i := range m.Popular()[:20] {
		popular = append(popular, m.ItemID(i))
	}
	same(t, popular, foundIDs(search("", 0)), "items without a query")
	same(t, min(valid.MaxFound, m.NumItems()), len(search("", valid.MaxFound+1)), "popular items")
	i, _ := m.ItemIndex(first)
	want := &pb.KnownItem{Item: &pb.Item{ItemId: first, Categories: []string{"c"}, Hidden: proto.Bool(true)},
		InModel: true, TrainUsers: m.Degree(i)}
	same(t, want, search(first, 1)[0], "an item")
}

// readStore counts the items that are read one after the other.
type readStore struct {
	store.Items
	read atomic.Int64
}

func (s *readStore) EachItem(
	ctx context.Context, after string, fn func(store.Item) error,
) error {
	return s.Items.EachItem(ctx, after, func(i store.Item) error {
		s.read.Add(1)
		return fn(i)
	})
}

// A word that few titles have, or none, costs no reading of the catalogue in the store.
func TestSearchReadsNoTitlesFromTheStore(t *testing.T) {
	st, items := &readStore{Items: memory.New()}, []store.Item(nil)
	for i := range 5000 {
		items = append(items, store.Item{ID: fmt.Sprintf("new-%04d", i), Title: "Kerze"})
	}
	items[4321].Title = "Lampe"
	must(t, st.PutItems(t.Context(), items))
	ts := start(t, setup{store: st})
	for query, want := range map[string][]string{"lampe": {"new-4321?"}, "nowhere": nil} {
		before := st.read.Load()
		r := reply(t, ts.items.SearchItems, &pb.SearchItemsRequest{Query: query})
		same(t, want, foundIDs(r.GetItems()), "%s", query)
		if read := st.read.Load() - before; read > 1 { // the one behind the ids that begin with it
			t.Errorf("a search for %q reads %d items", query, read)
		}
	}
}

// Known items come in the order of the request, those that nobody knows too.
func TestBatchGetItems(t *testing.T) {
	ts := start(t, setup{})
	ts.put(t, &pb.Item{ItemId: "new", Labels: []string{"l"}})
	r := reply(t, ts.items.BatchGetItems, &pb.BatchGetItemsRequest{
		ItemIds: []string{"new", item(3), "nowhere", item(3)}})
	want := []string{"new?", item(3), "nowhere?", item(3)}
	same(t, want, foundIDs(r.GetItems()), "ids")
	same(t, []string{"l"}, r.GetItems()[0].GetItem().GetLabels(), "labels")
}

// A store without items has a search all the same: that of the model.
func TestSearchWithoutCatalogue(t *testing.T) {
	ts := start(t, setup{store: struct{ store.Store }{memory.New()}})
	for _, query := range []string{"", item(2)} {
		r, err := ts.items.SearchItems(ctx(t), &pb.SearchItemsRequest{Query: query})
		if err != nil || len(r.GetItems()) == 0 {
			t.Errorf("items that begin with %q: %v, %v", query, r, err)
		}
	}
}
