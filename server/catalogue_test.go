package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// shows tells whether an item is on the list of somebody unknown.
func (ts *testServer) shows(t *testing.T, id string) bool {
	t.Helper()
	r := reply(t, ts.recommend.Recommend, &pb.RecommendRequest{PageSize: 1000,
		Subject: &pb.RecommendRequest_UserId{UserId: "nobody"}})
	return slices.ContainsFunc(r.GetItems(),
		func(i *pb.ScoredItem) bool { return i.GetItemId() == id })
}

// What one server writes to the catalogue, another one over the same store obeys soon.
func TestItemsReachOtherServers(t *testing.T) {
	t.Parallel()
	twoServers(t, func(t *testing.T, servers [2]*testServer) {
		for i, ts := range servers {
			other, id := servers[1-i], item(i)
			for _, hidden := range []bool{true, false} {
				ts.put(t, &pb.Item{ItemId: id, Hidden: proto.Bool(hidden)})
				eventually(t, "the other server has seen the item",
					func() bool { return other.shows(t, id) != hidden })
			}
		}
	})
}

// damagedStore is a store whose item "a" cannot be read until it is written.
type damagedStore struct {
	store.Items
	healed bool
}

func (s *damagedStore) EachItem(
	ctx context.Context, after string, fn func(store.Item) error,
) error {
	err := s.Items.EachItem(ctx, after, func(i store.Item) error {
		if i.ID == item(0) && !s.healed {
			return nil
		}
		return fn(i)
	})
	if err == nil && !s.healed && after < item(0) {
		err = &store.DamagedItemsError{IDs: []string{item(0)}}
	}
	return err
}

func (s *damagedStore) Item(ctx context.Context, id string) (store.Item, bool, error) {
	if id == item(0) && !s.healed {
		return store.Item{}, false, fmt.Errorf("item: %w", store.ErrCorrupt)
	}
	return s.Items.Item(ctx, id)
}

func (s *damagedStore) PutItems(ctx context.Context, items []store.Item) error {
	s.healed = s.healed || slices.ContainsFunc(items,
		func(i store.Item) bool { return i.ID == item(0) })
	return s.Items.PutItems(ctx, items)
}

// A server starts in spite of a damaged item, does not show it, says so, and shows it again when it
// is written as a whole.
func TestDamagedItemIsHiddenUntilWritten(t *testing.T) {
	st := &damagedStore{Items: memory.New()}
	id := item(0)
	must(t, st.Items.PutItems(t.Context(), []store.Item{{ID: id}}))
	ts := start(t, setup{store: st})
	status := func() string {
		t.Helper()
		return reply(t, ts.admin.GetStatus, &pb.GetStatusRequest{}).GetStoreDamage()
	}
	if got := status(); !strings.HasPrefix(got, "items of the catalogue are damaged (1)") {
		t.Errorf("the status says %q", got)
	}
	if ts.shows(t, id) {
		t.Error("the damaged item is shown")
	}
	_, err := ts.items.BatchUpsertItems(ctx(t), &pb.BatchUpsertItemsRequest{
		Items:      []*pb.Item{{ItemId: id, Title: "A"}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"title"}}})
	want := problem{Code: codes.DataLoss, Reason: "STORE_CORRUPT"}
	same(t, want, problemOf(t, err), "a change of a part")
	_, err = ts.items.GetItem(ctx(t), &pb.GetItemRequest{ItemId: id})
	same(t, want, problemOf(t, err), "GetItem")
	// An operator who looks for it, or for its neighbours, learns that it is hidden.
	found, err := ts.items.SearchItems(ctx(t), &pb.SearchItemsRequest{Query: id})
	if err != nil || len(found.GetItems()) == 0 || !found.GetItems()[0].GetItem().GetHidden() {
		t.Errorf("a search finds %v, %v, want the damaged item", found, err)
	}
	known, err := ts.items.BatchGetItems(ctx(t),
		&pb.BatchGetItemsRequest{ItemIds: []string{id, item(1)}})
	if err != nil || len(known.GetItems()) != 2 || !known.GetItems()[0].GetItem().GetHidden() ||
		known.GetItems()[1].GetItem().GetHidden() {
		t.Errorf("two items are %v, %v", known, err)
	}
	ts.put(t, &pb.Item{ItemId: id})
	if !ts.shows(t, id) || status() != "" {
		t.Errorf("after a write it is shown: %t, and the status says %q", ts.shows(t, id), status())
	}
}

// Beyond MaxItems an item is refused by its reason, and the batch with it.
func TestItemsAreBounded(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.MaxItems = 2 }})
	ts.put(t, &pb.Item{ItemId: "a"})
	_, err := ts.items.BatchUpsertItems(ctx(t), upsert(&pb.Item{ItemId: "b"}, &pb.Item{ItemId: "c"}))
	want := problem{Code: codes.ResourceExhausted, Reason: "TOO_MANY_ITEMS"}
	same(t, want, problemOf(t, err), "beyond the bound")
	ts.put(t, &pb.Item{ItemId: "a"}, &pb.Item{ItemId: "b"})
}

// Beyond MaxCatalogueBytes a batch is refused with the sizes and what to do. A server that starts
// with a larger catalogue says so, serves it, and lets it shrink.
func TestCatalogueSizeIsBounded(t *testing.T) {
	st := memory.New()
	limited := func(bytes int64) *testServer {
		return start(t, setup{store: st, config: func(c *Config) { c.MaxCatalogueBytes = bytes }})
	}
	wide := func(id string, names int) *pb.Item {
		i := &pb.Item{ItemId: id}
		for n := range names {
			i.Labels = append(i.Labels, fmt.Sprintf("%s %d %s", id, n, strings.Repeat("l", 200)))
		}
		return i
	}
	ts := limited(100_000)
	ts.put(t, wide("a", 100), wide("b", 80))
	_, err := ts.items.BatchUpsertItems(ctx(t), upsert(&pb.Item{ItemId: "c"}, wide("d", 80)))
	want := problem{Code: codes.ResourceExhausted, Reason: "CATALOGUE_TOO_LARGE"}
	same(t, want, problemOf(t, err), "beyond the bound")
	for _, part := range []string{"items would add", "at most 100000", "--max-catalogue-size"} {
		check.Says(t, err, part, "error")
	}
	if _, err := ts.items.GetItem(ctx(t), &pb.GetItemRequest{ItemId: "c"}); err == nil {
		t.Error("a part of the refused batch is there")
	}
	ts = limited(50_000)
	eventually(t, "the log says that the catalogue is too large", func() bool {
		return strings.Contains(ts.logs.String(), "the catalogue is larger than it may be")
	})
	if size, limit := value1(t, ts, "gsimc_catalogue_bytes"),
		value1(t, ts, "gsimc_catalogue_limit_bytes"); size < limit || limit != 50_000 {
		t.Errorf("the metrics tell %v bytes, and a limit of %v", size, limit)
	}
	_, err = ts.items.BatchUpsertItems(ctx(t), upsert(&pb.Item{ItemId: "c"}))
	same(t, want, problemOf(t, err), "growth")
	ts.put(t, wide("a", 99))
	reply(t, ts.items.BatchDeleteItems, &pb.BatchDeleteItemsRequest{ItemIds: []string{"a"}})
	ts.put(t, &pb.Item{ItemId: "c"})
}
