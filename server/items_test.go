package server

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/items"
	"github.com/gsimc/gsimc/server/internal/recommend"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

func upsert(items ...*pb.Item) *pb.BatchUpsertItemsRequest {
	return &pb.BatchUpsertItemsRequest{Items: items}
}

// replace writes items as they are, with all fields.
func replace(items ...*pb.Item) *pb.BatchUpsertItemsRequest {
	return &pb.BatchUpsertItemsRequest{Items: items,
		UpdateMask: &fieldmaskpb.FieldMask{Paths: valid.ItemFields[:]}}
}

// put replaces items.
func (ts *testServer) put(t testing.TB, items ...*pb.Item) {
	t.Helper()
	reply(t, ts.items.BatchUpsertItems, replace(items...))
}

// ways are all kinds of lists: each asks for all items that may be shown.
func ways() map[string]*pb.RecommendRequest {
	all := map[string]*pb.RecommendRequest{
		"user": forUser("ann"), "nobody": forUser("nobody"), "history": forHistory(1, 2),
		"unusable history": forHistory(testItems + 5),
		"seen":             forUser("ann"),
		"thompson":         exploring(forUser("ann"), thompson(3, 1), 0),
		"thompson, nobody": exploring(forUser("nobody"), thompson(4, 2), 0),
		"confidence":       exploring(forUser("ann"), upperConfidence(1), 0),
		"packed":           forUser("ann"), "allowed": forUser("ann"), "denied": forUser("ann"),
		"allowed, nobody":     forUser("nobody"),
		"allowed, confidence": exploring(forUser("ann"), upperConfidence(2), 0),
	}
	all["seen"].Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
	all["packed"].Packed = true
	for name, req := range all {
		req.PageSize = valid.MaxPageSize
		switch name {
		case "allowed", "allowed, nobody", "allowed, confidence":
			req.Filter = &pb.ItemFilter{}
			for i := range testItems {
				req.Filter.AllowItemIds = append(req.Filter.AllowItemIds, item(i))
			}
		case "denied":
			req.Filter = &pb.ItemFilter{DenyItemIds: []string{item(30)}}
		}
	}
	return all
}

// startLearnedAt is startNamed with learned dynamics and a clock.
func startLearnedAt(
	t *testing.T, now *atomic.Pointer[time.Time], more ...func(*Config),
) *testServer {
	t.Helper()
	if now.Load() == nil {
		now.Store(&testNow)
	}
	return start(t, setup{
		open: named(t, "learned"),
		config: func(c *Config) {
			c.Now = func() time.Time { return *now.Load() }
			for _, change := range more {
				change(c)
			}
		},
	})
}

// turnClock sets a clock ahead, or back, and returns its time.
func turnClock(clock *atomic.Pointer[time.Time], by time.Duration) time.Time {
	now := clock.Load().Add(by)
	clock.Store(&now)
	return now
}

// listed are the ids of a list, packed or not.
func listed(r *pb.RecommendResponse) []string {
	return append(itemIDs(r), r.GetPackedItems().GetItemIds()...)
}

// An item that is hidden, or not available, is on no list of any kind from the next call on, and on
// all lists where it was from the moment when it may be shown again.
func TestHiddenItemsShowNowhere(t *testing.T) {
	var clock atomic.Pointer[time.Time]
	ts := startLearnedAt(t, &clock)
	now := *clock.Load()
	ts.observe(t, newEvent("ann", 4))
	before := map[string][]string{}
	for name, req := range ways() {
		before[name] = listed(ts.ask(t, req))
	}
	similar := func() (ids []string) {
		r := reply(t, ts.recommend.SimilarItems,
			&pb.SimilarItemsRequest{ItemId: item(20), PageSize: valid.MaxPageSize})
		for _, i := range r.GetItems() {
			ids = append(ids, i.GetItemId())
		}
		return ids
	}
	similarBefore := similar()
	out := []string{item(10), item(11), item(12)}
	check := func(moment string, out []string) {
		t.Helper()
		for name, req := range ways() {
			want := slices.DeleteFunc(slices.Clone(before[name]),
				func(id string) bool { return slices.Contains(out, id) })
			same(t, want, listed(ts.ask(t, req)), "%s: %s", moment, name)
		}
		want := slices.DeleteFunc(slices.Clone(similarBefore),
			func(id string) bool { return slices.Contains(out, id) })
		same(t, want, similar(), "%s: similar items", moment)
		many := reply(t, ts.recommend.BatchRecommend, &pb.BatchRecommendRequest{
			PageSize: valid.MaxPageSize, Subjects: []*pb.BatchSubject{
				{Subject: &pb.BatchSubject_UserId{UserId: "ann"}},
				{Subject: &pb.BatchSubject_UserId{UserId: "nobody"}}}})
		for i, name := range []string{"user", "nobody"} {
			want := listed(ts.ask(t, ways()[name]))
			same(t, want, listed(many.GetResults()[i].GetResponse()), "%s: batch, %s", moment, name)
		}
		r, err := ts.recommend.ScoreItems(ctx(t), &pb.ScoreItemsRequest{
			Subject: &pb.ScoreItemsRequest_UserId{UserId: "ann"}, ItemIds: []string{item(10),
				item(11), item(12), item(13)}})
		if err != nil || len(r.GetItems()) != 4-len(out) || len(r.GetExcludedItemIds()) != len(out) {
			t.Errorf("%s: scores %v, %v", moment, r, err)
		}
	}
	check("an empty catalogue", nil)
	ts.put(t, &pb.Item{ItemId: item(10), Hidden: proto.Bool(true)},
		&pb.Item{ItemId: item(11), AvailableFrom: timestamppb.New(now.Add(time.Hour))},
		&pb.Item{ItemId: item(12), AvailableUntil: timestamppb.New(now)},
		&pb.Item{ItemId: item(13), AvailableFrom: timestamppb.New(now),
			AvailableUntil: timestamppb.New(now.Add(2 * time.Hour))},
		&pb.Item{ItemId: item(14), Categories: []string{"shown"}})
	check("hidden", out)
	turnClock(&clock, time.Hour)
	check("an hour later", []string{item(10), item(12)})
	turnClock(&clock, -time.Hour)
	check("after the clock was set back", out)
	reply(t, ts.items.BatchUpsertItems, &pb.BatchUpsertItemsRequest{
		Items:      []*pb.Item{{ItemId: item(10)}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"hidden"}}})
	check("shown again", out[1:])
	reply(t, ts.items.BatchDeleteItems, &pb.BatchDeleteItemsRequest{ItemIds: out})
	check("deleted", nil)
}

// A hidden item stays hidden over a reload and a restart, and when the model is extended by it.
func TestHiddenItemsStayHidden(t *testing.T) {
	st := memory.New()
	var seed atomic.Uint64
	ts := start(t, setup{store: st, config: extending,
		open: func() (*model.Model, error) { return newModel(t, seed.Add(1)), nil }})
	ts.put(t, &pb.Item{ItemId: item(10), Hidden: proto.Bool(true)}, &pb.Item{ItemId: novelty, Hidden: proto.Bool(true)})
	all := func() *pb.RecommendRequest { return page(forHistory(1), valid.MaxPageSize) }
	check := func(moment string) {
		t.Helper()
		ids := itemIDs(ts.ask(t, all()))
		if len(ids) != testItems-2 || slices.Contains(ids, item(10)) ||
			slices.Contains(ids, novelty) {
			t.Errorf("%s: %d items: %v", moment, len(ids), ids)
		}
	}
	check("at first")
	ts.showNovelty(t, 3)
	ts.awaitExtension(t, knows(novelty))
	check("after an extension")
	ts.put(t, &pb.Item{ItemId: novelty, Categories: []string{"new"}})
	req := all()
	req.Filter = &pb.ItemFilter{AnyCategories: []string{"new"}}
	same(t, []string{novelty}, itemIDs(ts.ask(t, req)), "items of the category")
	ts.put(t, &pb.Item{ItemId: novelty, Hidden: proto.Bool(true)})
	must(t, ts.Reload(ctx(t)))
	check("after a reload")
	ts.awaitExtension(t, knows(novelty))
	check("after another extension")
	ts.shutdown(t)
	ts = start(t, setup{store: st})
	check("after a restart")
}

// Calls of ItemService, one after the other.
func TestItemCalls(t *testing.T) {
	ts := start(t, setup{})
	at := func(s int64) *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: s} }
	get := func(id string) *pb.Item {
		t.Helper()
		return reply(t, ts.items.GetItem, &pb.GetItemRequest{ItemId: id}).GetItem()
	}
	masked := func(item *pb.Item, paths ...string) {
		t.Helper()
		req := upsert(item)
		req.UpdateMask = &fieldmaskpb.FieldMask{Paths: paths}
		reply(t, ts.items.BatchUpsertItems, req)
	}
	holds := func(want *pb.Item) {
		t.Helper()
		want.Hidden = proto.Bool(want.GetHidden()) // an answer says it always
		same(t, want, get(want.GetItemId()), "the item")
	}
	ts.put(t, &pb.Item{ItemId: "a", Categories: []string{"z", "b", "z"}, Labels: []string{"l"},
		AvailableUntil: at(9)})
	holds(&pb.Item{ItemId: "a", Categories: []string{"b", "z"}, Labels: []string{"l"},
		AvailableUntil: at(9)})
	masked(&pb.Item{ItemId: "a", Hidden: proto.Bool(true), Categories: []string{"x"}, AvailableFrom: at(7),
		Title: "A"}, "hidden", "available_from", "labels", "title")
	holds(&pb.Item{ItemId: "a", Categories: []string{"b", "z"}, Hidden: proto.Bool(true),
		AvailableFrom: at(7), AvailableUntil: at(9), Title: "A"})
	masked(&pb.Item{ItemId: "b", Hidden: proto.Bool(true), Categories: []string{"x"}}, "categories")
	holds(&pb.Item{ItemId: "b", Categories: []string{"x"}})
	ts.put(t, &pb.Item{ItemId: "a"})
	holds(&pb.Item{ItemId: "a"})

	req := upsert(&pb.Item{ItemId: "c"}, &pb.Item{ItemId: "b", AvailableUntil: at(3)},
		&pb.Item{ItemId: "a", AvailableFrom: at(3), AvailableUntil: at(3)})
	_, err := ts.items.BatchUpsertItems(ctx(t), req)
	same(t, problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD",
		Fields: []string{"items[2].available_until"}}, problemOf(t, err), "empty time")
	_, err = ts.items.BatchUpsertItems(t.Context(), upsert(&pb.Item{ItemId: "a"}, &pb.Item{ItemId: "b",
		Numbers: map[string]float64{"price": math.NaN(), "stock": math.Inf(1), "Rank": 1}}))
	same(t, problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD",
		Fields: []string{"items[1].numbers"}}, problemOf(t, err), "a bad name")
	_, err = ts.items.BatchUpsertItems(t.Context(), upsert(&pb.Item{ItemId: "a"}, &pb.Item{ItemId: "b",
		Numbers: map[string]float64{"price": math.NaN(), "stock": math.Inf(1), "rank": 1}}))
	same(t, problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD", Fields: []string{
		"items[1].numbers.price", "items[1].numbers.stock"}}, problemOf(t, err), "bad numbers")
	holds(&pb.Item{ItemId: "b", Categories: []string{"x"}}) // nothing of the call was written
	_, err = ts.items.GetItem(ctx(t), &pb.GetItemRequest{ItemId: "c"})
	same(t, problem{Code: codes.NotFound, Reason: "ITEM_NOT_FOUND"}, problemOf(t, err), "no item")
	r := reply(t, ts.items.BatchUpsertItems, upsert(&pb.Item{ItemId: "b"}, &pb.Item{ItemId: "d"}))
	same(t, int32(1), r.GetCreatedCount(), "created")
	gone := reply(t, ts.items.BatchDeleteItems,
		&pb.BatchDeleteItemsRequest{ItemIds: []string{"a", "x", "a"}})
	same(t, int32(1), gone.GetDeletedCount(), "deleted")
}

// Without a mask an item keeps what the request does not name.
func TestUpsertKeepsWhatItDoesNotName(t *testing.T) {
	ts := start(t, setup{})
	whole := func(id string) *pb.Item {
		return &pb.Item{ItemId: id, Title: "A", Categories: []string{"c"}, Labels: []string{"l"},
			Hidden: proto.Bool(false), AvailableFrom: &timestamppb.Timestamp{Seconds: 7},
			AvailableUntil: &timestamppb.Timestamp{Seconds: 9}, Embedding: []float32{1, -.5},
			Numbers: map[string]float64{"price": 2.5, "stock": 0}}
	}
	a, b := whole("a"), whole("b")
	ts.put(t, a, b)
	upserted := func(items ...*pb.Item) {
		t.Helper()
		r := reply(t, ts.items.BatchUpsertItems, upsert(items...))
		mustSame(t, int32(0), r.GetCreatedCount(), "created")
		for _, want := range []*pb.Item{a, b} {
			got := reply(t, ts.items.GetItem, &pb.GetItemRequest{ItemId: want.GetItemId()})
			same(t, want, got.GetItem(), "the item")
		}
	}
	a.Hidden, b.Title = proto.Bool(true), "B"
	upserted(&pb.Item{ItemId: "a", Hidden: proto.Bool(true)}, &pb.Item{ItemId: "b", Title: "B"})
	a.Hidden, b.Categories = proto.Bool(false), []string{"d"}
	upserted(&pb.Item{ItemId: "a", Hidden: proto.Bool(false)},
		&pb.Item{ItemId: "b", Categories: []string{"d"}})
	upserted(&pb.Item{ItemId: "a"}, &pb.Item{ItemId: "b"})
	a.Embedding = []float32{0, 1}
	upserted(&pb.Item{ItemId: "a", Embedding: a.Embedding})
	a.Numbers["price"], b.Numbers["rating"] = 3, 4.5
	upserted(&pb.Item{ItemId: "a", Numbers: map[string]float64{"price": 3}},
		&pb.Item{ItemId: "b", Numbers: map[string]float64{"rating": 4.5}})
	masked := func(path string, numbers map[string]float64) {
		req := upsert(&pb.Item{ItemId: "a", Numbers: numbers})
		req.UpdateMask = &fieldmaskpb.FieldMask{Paths: []string{path}}
		reply(t, ts.items.BatchUpsertItems, req)
		upserted(&pb.Item{ItemId: "a"})
	}
	delete(a.Numbers, "price")
	masked("numbers.price", nil)
	a.Numbers = map[string]float64{"rank": 1}
	masked("numbers", a.Numbers)
	a.Numbers["rank"] = 2
	masked("numbers.rank", map[string]float64{"rank": 2, "not_named": 1})
}

// The embeddings of a catalogue have one length; another one can be written when they are gone.
func TestEmbeddingsHaveOneLength(t *testing.T) {
	ts := start(t, setup{})
	of := func(id string, e ...float32) *pb.Item { return &pb.Item{ItemId: id, Embedding: e} }
	refused := func(text string, items ...*pb.Item) {
		t.Helper()
		_, err := ts.items.BatchUpsertItems(ctx(t), upsert(items...))
		want := problem{Code: codes.InvalidArgument, Reason: "INVALID_FIELD",
			Fields: []string{"items[1].embedding"}}
		same(t, want, problemOf(t, err), "an embedding that %s", text)
		if err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
	refused(`must have 2 numbers, as that of item "a" before it`, of("a", 1, 0), of("b", 1, 0, 0))
	refused("finite ones", of("a", 1, 0), of("b", 1, float32(math.Inf(1))))
	refused("not all 0", of("a", 1, 0), of("b", 0, 0))
	refused("at most 1024", of("a", 1, 0), of("b", make([]float32, store.MaxEmbedding+1)...))
	ts.put(t, of("a", 1, 0), of("b"))
	refused("empty those before", of("c"), of("b", 1, 0, 0))
	ts.put(t, of("a"))
	ts.put(t, of("a", 0, 1, 0), of("b", 1, 0, 0))
	one := reply(t, ts.items.GetItem, &pb.GetItemRequest{ItemId: "a"}).GetItem()
	some := reply(t, ts.items.BatchGetItems, &pb.BatchGetItemsRequest{ItemIds: []string{"a"}})
	same(t, 3, len(one.GetEmbedding()), "numbers of an item")
	same(t, 0, len(some.GetItems()[0].GetItem().GetEmbedding()), "numbers of some items")
}

// The pages of a listing are all items, in order and each once.
func TestListItems(t *testing.T) {
	ts := start(t, setup{})
	var want []string
	long := make([]string, 100)
	for i := range long {
		long[i] = item(i) + string(make([]byte, 240))
	}
	for i := range 57 {
		want = append(want, item(i))
		ts.put(t, &pb.Item{ItemId: item(i), Categories: long})
	}
	slices.Sort(want)
	for _, size := range []int32{0, 1, 7, 57, 5000} {
		var got []string
		req := &pb.ListItemsRequest{PageSize: size}
		pages := 0
		for {
			r := reply(t, ts.items.ListItems, req)
			for _, i := range r.GetItems() {
				got = append(got, i.GetItemId())
			}
			pages++
			if req.PageToken = r.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		same(t, want, got, "pages of %d", size)
		if pages == 1 {
			t.Errorf("pages of %d: more than 1 MiB in one page", size)
		}
	}
}

// lets is the rule of a filter for one item, spelled out.
func lets(f *pb.ItemFilter, i *pb.Item, now time.Time) bool {
	if i.GetHidden() || i.AvailableFrom != nil && i.AvailableFrom.AsTime().After(now) ||
		i.AvailableUntil != nil && !i.AvailableUntil.AsTime().After(now) {
		return false
	}
	for _, part := range []struct{ has, any, all, no []string }{
		{i.GetCategories(), f.GetAnyCategories(), f.GetAllCategories(), f.GetNoCategories()},
		{i.GetLabels(), f.GetAnyLabels(), f.GetAllLabels(), f.GetNoLabels()},
	} {
		has := func(name string) bool { return slices.Contains(part.has, name) }
		if len(part.any) > 0 && !slices.ContainsFunc(part.any, has) {
			return false
		}
		for _, name := range part.all {
			if !has(name) {
				return false
			}
		}
		if slices.ContainsFunc(part.no, has) {
			return false
		}
	}
	for _, r := range f.GetRanges() {
		x, there := i.GetNumbers()[r.GetName()]
		if !there || r.Gt != nil && x <= *r.Gt || r.Gte != nil && x < *r.Gte ||
			r.Lt != nil && x >= *r.Lt || r.Lte != nil && x > *r.Lte ||
			len(r.GetAnyOf()) > 0 && !slices.Contains(r.GetAnyOf(), x) {
			return false
		}
	}
	if n := f.GetNear(); n != nil && !isNear(n, i.GetNumbers()) {
		return false
	}
	return (len(f.GetAllowItemIds()) == 0 || slices.Contains(f.GetAllowItemIds(), i.GetItemId())) &&
		!slices.Contains(f.GetDenyItemIds(), i.GetItemId())
}

// isNear tells whether numbers, of which the price is a longitude, are near a point, by the law of
// cosines.
func isNear(n *pb.Near, numbers map[string]float64) bool {
	latitude, there := numbers["latitude"]
	sinA, cosA := math.Sincos(latitude * math.Pi / 180)
	sinB, cosB := math.Sincos(n.GetLatitude() * math.Pi / 180)
	far := math.Acos(sinA*sinB + cosA*cosB*math.Cos((numbers["price"]-n.GetLongitude())*math.Pi/180))
	return there && far*6371.0088 <= n.GetRadiusKm()
}

// scoresByID are the items of a list with their scores, in order.
func scoresByID(r *pb.RecommendResponse) (list []string) {
	for _, i := range r.GetItems() {
		list = append(list, fmt.Sprint(i.GetItemId(), " ", i.GetScore()))
	}
	return list
}

// names draws a few of a number of names, mostly none.
func names(rng *rand.Rand, of int) (drawn []string) {
	for rng.IntN(2) == 0 {
		drawn = append(drawn, string(rune('a'+rng.IntN(of))))
	}
	return drawn
}

// randomItem draws what the catalogue has of an item.
func randomItem(rng *rand.Rand, id string, now time.Time) *pb.Item {
	i := &pb.Item{ItemId: id, Categories: append(names(rng, 6), names(rng, 2)...),
		Labels: names(rng, 4), Hidden: proto.Bool(rng.IntN(12) == 0)}
	if rng.IntN(3) > 0 {
		i.Numbers = map[string]float64{"price": float64(rng.IntN(9) - 4), "stock": 1,
			"latitude": float64(rng.IntN(9)) - 4}
	}
	around := func() *timestamppb.Timestamp {
		return timestamppb.New(now.Add(time.Duration(rng.IntN(200)-100) * time.Minute))
	}
	if rng.IntN(4) == 0 {
		i.AvailableFrom = around()
	}
	if rng.IntN(4) == 0 {
		i.AvailableUntil = around()
	}
	if i.AvailableFrom != nil && i.AvailableUntil != nil &&
		!i.AvailableUntil.AsTime().After(i.AvailableFrom.AsTime()) {
		i.AvailableFrom = nil
	}
	return i
}

// randomFilter draws a filter, with names that no item has and ids that nobody knows.
func randomFilter(rng *rand.Rand) *pb.ItemFilter {
	f := &pb.ItemFilter{AnyCategories: names(rng, 7), NoCategories: names(rng, 7),
		AnyLabels: names(rng, 5), NoLabels: names(rng, 5)}
	if rng.IntN(3) == 0 {
		f.AllCategories, f.AllLabels = names(rng, 7), names(rng, 5)
	}
	for range max(rng.IntN(4)-2, 0) {
		r := &pb.NumberRange{Name: "price"}
		for _, either := range [][2]**float64{{&r.Gt, &r.Gte}, {&r.Lt, &r.Lte}} {
			if rng.IntN(2) == 0 {
				*either[rng.IntN(2)] = proto.Float64(float64(rng.IntN(9) - 4))
			}
		}
		for _, least := range []*float64{r.Gt, r.Gte} {
			for _, most := range []*float64{r.Lt, r.Lte} {
				if least != nil && most != nil {
					*least, *most = min(*least, *most), max(*least, *most)
				}
			}
		}
		if rng.IntN(4) == 0 {
			r.AnyOf = []float64{0, 1, -2, 3}
		}
		f.Ranges = append(f.Ranges, r)
	}
	if rng.IntN(5) == 0 {
		f.Near = &pb.Near{Latitude: proto.Float64(5 * rng.NormFloat64()),
			Longitude: proto.Float64(5 * rng.NormFloat64()), RadiusKm: 1 + 1000*rng.Float64(), LongitudeNumber: "price"}
	}
	if rng.IntN(4) == 0 {
		for range rng.IntN(testItems) {
			f.AllowItemIds = append(f.AllowItemIds, item(rng.IntN(testItems+2)))
		}
	}
	for range rng.IntN(4) {
		f.DenyItemIds = append(f.DenyItemIds, item(rng.IntN(testItems+2)))
	}
	return f
}

// namedFilters writes a file of random filters and returns them by their names.
func namedFilters(t *testing.T, rng *rand.Rand) (file string, named map[string]*pb.ItemFilter) {
	t.Helper()
	var text strings.Builder
	named = map[string]*pb.ItemFilter{}
	for len(named) < 8 {
		f, name := randomFilter(rng), fmt.Sprint("filter-", len(named))
		f.AllowItemIds, f.DenyItemIds = nil, nil
		f.NoLabels = append(f.NoLabels, "never")
		named[name] = f
		fmt.Fprintf(&text, "%s:\n", name)
		for condition, names := range map[string][]string{"any_categories": f.AnyCategories,
			"all_categories": f.AllCategories, "no_categories": f.NoCategories,
			"any_labels": f.AnyLabels, "all_labels": f.AllLabels, "no_labels": f.NoLabels} {
			fmt.Fprintf(&text, "  %s: [%s]\n", condition, strings.Join(names, ", "))
		}
		if len(f.GetRanges()) > 0 {
			fmt.Fprintf(&text, "  ranges: %s\n", yamlOf(f.GetRanges()))
		}
		if n := f.GetNear(); n != nil {
			fmt.Fprintf(&text, "  near: {latitude: %v, longitude: %v, radius_km: %v, longitude_number: price}\n",
				n.GetLatitude(), n.GetLongitude(), n.GetRadiusKm())
		}
	}
	file = filepath.Join(t.TempDir(), "filters.yaml")
	must(t, os.WriteFile(file, []byte(text.String()), 0o600))
	return file, named
}

// yamlOf are ranges as a file has them.
func yamlOf(ranges []*pb.NumberRange) string {
	var texts []string
	for _, r := range ranges {
		text := "{name: " + r.GetName()
		for name, bound := range map[string]*float64{"gt": r.Gt, "gte": r.Gte, "lt": r.Lt,
			"lte": r.Lte} {
			if bound != nil {
				text += fmt.Sprintf(", %s: %v", name, *bound)
			}
		}
		text += ", any_of: [" + strings.Trim(strings.ReplaceAll(fmt.Sprint(r.GetAnyOf()), " ", ", "),
			"[]") + "]"
		texts = append(texts, text+"}")
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// A name that no filter has is refused in each call with filters, and the names that there are are
// told.
func TestUnknownFilters(t *testing.T) {
	file, _ := namedFilters(t, rand.New(rand.NewPCG(69, 1)))
	for _, c := range []struct{ file, want string }{
		{file, "filter.named_filters[1] is the name of no filter; this server has filter-0, "},
		{"", "filter.named_filters[0] is the name of no filter; this server has none"},
	} {
		ts := start(t, setup{config: func(cfg *Config) { cfg.FiltersFile = c.file }})
		filter := &pb.ItemFilter{NamedFilters: []string{"filter-0", "secret"}}
		req := forUser("ann")
		req.Filter = filter
		_, one := ts.recommend.Recommend(t.Context(), req)
		_, many := ts.recommend.BatchRecommend(t.Context(), &pb.BatchRecommendRequest{
			Subjects: []*pb.BatchSubject{{Subject: &pb.BatchSubject_UserId{UserId: "ann"}}},
			Filter:   filter})
		_, similar := ts.recommend.SimilarItems(t.Context(),
			&pb.SimilarItemsRequest{ItemId: item(1), Filter: filter})
		for _, err := range []error{one, many, similar} {
			if p := problemOf(t, err); p.Code != codes.InvalidArgument ||
				p.Reason != "UNKNOWN_FILTER" ||
				!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") ||
				!slices.Equal(p.Fields, []string{c.want[:len("filter.named_filters[0]")]}) {
				t.Errorf("%v of the fields %v, want %q", err, p.Fields, c.want)
			}
		}
	}
}

// oneOrMany asks for a list, by itself or among others.
func oneOrMany(
	t *testing.T, service *recommend.Service, rng *rand.Rand, req *pb.RecommendRequest,
) *pb.RecommendResponse {
	t.Helper()
	if req.Exploration != nil || rng.IntN(2) == 0 {
		return check.Get(service.Recommend(t.Context(), req))(t)
	}
	subject := &pb.BatchSubject{Subject: &pb.BatchSubject_UserId{UserId: req.GetUserId()}}
	if h := req.GetHistory(); h != nil {
		subject.Subject = &pb.BatchSubject_History{History: h}
	}
	other := &pb.BatchSubject{Subject: &pb.BatchSubject_UserId{UserId: "nobody"}}
	r := check.Get(service.BatchRecommend(t.Context(), &pb.BatchRecommendRequest{
		PageSize: req.GetPageSize(), Filter: req.GetFilter(),
		Subjects: []*pb.BatchSubject{other, subject}}))(t)
	return r.GetResults()[1].GetResponse()
}

// A reload, as on SIGHUP, takes the file of filters at once.
func TestReloadReadsFilters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "filters.yaml")
	must(t, os.WriteFile(file, []byte("old: {no_labels: [a]}\n"), 0o600))
	ts := start(t, setup{config: func(c *Config) { c.FiltersFile = file }})
	must(t, os.WriteFile(file, []byte("new: {no_labels: [a]}\n"), 0o600))
	must(t, ts.Reload(ctx(t)))
	req := forUser("u")
	req.Filter = &pb.ItemFilter{NamedFilters: []string{"new"}}
	check.Get(ts.recommend.Recommend(ctx(t), req))(t)
}

// A filter that is saved by JSON holds for the next list, and one that is deleted is unknown.
func TestSavedFilters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "filters.yaml")
	must(t, os.WriteFile(file, []byte("# ours\nold: {weight: 2, no_labels: [a]}\n"), 0o600))
	ts, c := startJSON(t, setup{config: func(c *Config) { c.FiltersFile = file }})
	check.Get(ts.items.BatchUpsertItems(ctx(t), upsert(
		&pb.Item{ItemId: item(1), Categories: []string{"c"}})))(t)
	listed := reply(t, ts.items.ListNamedFilters, &pb.ListNamedFiltersRequest{})
	same(t, []*pb.NamedFilter{{Name: "old", Entry: "{weight: 2, no_labels: [a]}\n",
		Rule: &pb.NamedFilter_Boost{Boost: &pb.Boost{Name: "old", Weight: 2,
			Filter: &pb.ItemFilter{NoLabels: []string{"a"}}}}}}, listed.GetFilters(), "the entries")
	save := func(version, entry string) string {
		return fmt.Sprintf(`{"name": "new", "version": %q, "entry": %q}`, version, entry)
	}
	const entry, path, list = "{any_categories: [c]}", "/v1/filters:save", "/v1/recommend"
	c.refused("POST", path, save("another", entry), 409, "FILTERS_CHANGED")
	c.refused("POST", path, save(listed.GetVersion(), "{weight: 0}"), 400, "INVALID_FIELD")
	code, text := c.do("POST", path, save(listed.GetVersion(), entry))
	same(t, 200, code, "%s", text)
	code, text = c.do("POST", list, `{"userId": "u", "filter": {"namedFilters": ["new"]}}`)
	if code != 200 || strings.Count(text, "itemId") != 1 || !strings.Contains(text, item(1)) {
		t.Errorf("the next list: %d %s", code, text)
	}
	code, text = c.do("GET", "/v1/filters", "")
	same(t, 200, code, "%s", text)
	must(t, protojson.Unmarshal([]byte(text), listed))
	same(t, []string{"old", "new"}, []string{listed.GetFilters()[0].GetName(),
		listed.GetFilters()[1].GetName()}, "names")
	same(t, []string{"c"}, listed.GetFilters()[1].GetFilter().GetAnyCategories(), "the filter")
	code, text = c.do("POST", path, save(listed.GetVersion(), ""))
	same(t, 200, code, "%s", text)
	c.refused("POST", list, `{"userId": "u", "filter": {"namedFilters": ["new"]}}`, 400,
		"UNKNOWN_FILTER")
	same(t, "# ours\nold: {weight: 2, no_labels: [a]}\n",
		string(check.Get(os.ReadFile(file))(t)), "the file")

	must(t, os.WriteFile(file, []byte("old: ["), 0o600))
	c.refused("POST", path, save(listed.GetVersion(), entry), 400, "FILTERS_FILE")
	_, without := startJSON(t, setup{})
	without.refused("POST", path, save("v", entry), 400, "NO_FILTERS_FILE")
}

// 10,000 lists under random filters, histories and times, while the catalogue changes and the clock
// runs and is set back: each is the list without a filter, less what must not pass by the rule
// spelled out.
func TestFiltersAgainstOracle(t *testing.T) {
	t.Parallel()
	var clock atomic.Pointer[time.Time]
	rng := rand.New(rand.NewPCG(61, 1))
	file, named := namedFilters(t, rng)
	ts := startLearnedAt(t, &clock, func(c *Config) { c.FiltersFile = file })
	now := *clock.Load()
	unfiltered := startLearnedAt(t, &clock) // has no items
	service, plain := ts.services.recommend, unfiltered.services.recommend
	catalogue := items.New(items.Deps{Catalogue: ts.catalogue, Models: ts.arms.Main().Models})
	known := map[string]*pb.Item{}
	empty, full := 0, 0
	for round := range 10_000 {
		switch rng.IntN(20) {
		case 0:
			id := item(rng.IntN(testItems + 2))
			known[id] = randomItem(rng, id, now)
			check.Get(catalogue.BatchUpsertItems(t.Context(), replace(known[id])))(t)
		case 1:
			id := item(rng.IntN(testItems))
			delete(known, id)
			check.Get(catalogue.BatchDeleteItems(t.Context(),
				&pb.BatchDeleteItemsRequest{ItemIds: []string{id}}))(t)
		case 2:
			now = turnClock(&clock, time.Duration(rng.IntN(30))*time.Minute)
		case 3:
			now = turnClock(&clock, -time.Duration(rng.IntN(30))*time.Minute)
		}
		req := page(forHistory(rng.Perm(testItems + 2)[:1+rng.IntN(4)]...), valid.MaxPageSize)
		if rng.IntN(6) == 0 {
			req.Subject = forUser("nobody").Subject
		}
		switch rng.IntN(6) {
		case 0:
			req.Exploration = upperConfidence(1)
		case 1:
			req.Exploration = thompson(uint64(round)+1, 1)
		}
		all := check.Get(plain.Recommend(t.Context(), req))(t)
		req.Filter, req.PageSize = randomFilter(rng), int32(1+rng.IntN(testItems))
		of := []*pb.ItemFilter{req.Filter}
		for range max(rng.IntN(5)-2, 0) {
			name := slices.Sorted(maps.Keys(named))[rng.IntN(len(named))]
			req.Filter.NamedFilters = append(req.Filter.NamedFilters, name)
			of = append(of, named[name])
		}
		got := oneOrMany(t, service, rng, req)
		want := slices.DeleteFunc(all.GetItems(), func(i *pb.ScoredItem) bool {
			attributes := known[i.GetItemId()]
			if attributes == nil {
				attributes = &pb.Item{ItemId: i.GetItemId()}
			}
			return slices.ContainsFunc(of,
				func(f *pb.ItemFilter) bool { return !lets(f, attributes, now) })
		})
		want = want[:min(len(want), int(req.PageSize))]
		wanted := &pb.RecommendResponse{Items: want}
		mustSame(t, scoresByID(wanted), scoresByID(got), "round %d, filter %v", round, req.Filter)
		if len(want) == 0 {
			empty++
		} else if len(want) == int(req.PageSize) {
			full++
		}
	}
	if empty < 500 || full < 500 {
		t.Errorf("%d lists are empty and %d full: the filters say little", empty, full)
	}
}
