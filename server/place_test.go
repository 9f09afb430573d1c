package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/diverse"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// placeOracle spells out what a request with diversity and pins has to return: from the whole list
// without them, seen items included, of which the list has those that exclude does not tell.
type placeOracle struct {
	all      []*pb.ScoredItem
	excluded func(id string) bool // seen
	passes   func(id string) bool // the filter, and the catalogue
	row      func(id string) int32
	alike    func(a, b int32) float32
	category map[string][]uint32
}

func (o *placeOracle) list(r *pb.RecommendRequest) (ids []string) {
	pinned := map[string]int{}
	for _, p := range r.GetPinned() {
		known := slices.ContainsFunc(o.all, func(i *pb.ScoredItem) bool { return i.ItemId == p.ItemId })
		if known && o.passes(p.GetItemId()) {
			pinned[p.GetItemId()] = int(p.GetPosition()) - 1
		}
	}
	var pool []*pb.ScoredItem
	for _, i := range o.all {
		if _, is := pinned[i.GetItemId()]; !is && o.passes(i.GetItemId()) && !o.excluded(i.GetItemId()) {
			pool = append(pool, i)
		}
	}
	rest := o.diverse(r.GetDiversity(), pool, int(r.GetPageSize())-len(pinned))
	for len(rest) > 0 || len(pinned) > 0 {
		next, at := "", 0
		for id, position := range pinned {
			if next == "" || position < at {
				next, at = id, position
			}
		}
		if next != "" && (at <= len(ids) || len(rest) == 0) {
			ids = append(ids, next)
			delete(pinned, next)
		} else {
			ids, rest = append(ids, rest[0]), rest[1:]
		}
	}
	return ids
}

// diverse goes by the rule, which TestSelectAgainstOracle holds to its definition.
func (o *placeOracle) diverse(d *pb.Diversity, pool []*pb.ScoredItem, n int) (ids []string) {
	rule := diverse.Rule{MaxPerCategory: int(d.GetMaxPerCategory()),
		Lambda: valid.Value(lambdaOf(d))}
	var scored []ranking.Scored
	var categories [][]uint32
	for _, i := range pool {
		scored = append(scored, ranking.Scored{Item: o.row(i.GetItemId()),
			Score: float32(i.GetScore())})
		categories = append(categories, o.category[i.GetItemId()])
	}
	for _, chosen := range rule.Select(nil, scored, n, categories, o.alike) {
		ids = append(ids, pool[slices.Index(scored, chosen)].GetItemId())
	}
	return ids
}

// Random lists with diversity, pins, filters, histories and explanations are what the rule says, and
// the same when asked for again; pinned items say that they are.
func TestPlacementAgainstOracle(t *testing.T) {
	ts := startNamed(t, "learned")
	rng := rand.New(rand.NewPCG(67, 2))
	categories, hidden := map[string][]uint32{}, item(7)
	for i := range testItems {
		id, names := item(i), []string(nil)
		for c := range uint32(4) {
			if rng.IntN(3) == 0 {
				categories[id] = append(categories[id], c)
				names = append(names, fmt.Sprint("c", c))
			}
		}
		ts.put(t, &pb.Item{ItemId: id, Categories: names, Hidden: proto.Bool(id == hidden)})
	}
	seen := []int{4, 9, 20}
	for _, i := range seen {
		ts.observe(t, newEvent("ann", i))
	}
	lease := ts.arms.Main().Acquire()
	defer lease.Release()
	row := func(id string) int32 { i, _ := lease.ItemIndex(id); return i }
	pinnedSeen := 0
	for trial := range 300 {
		user := []string{"ann", "nobody"}[rng.IntN(2)]
		r := forUser(user)
		r.PageSize = int32(1 + rng.IntN(12))
		all := ts.ask(t, &pb.RecommendRequest{Subject: r.Subject, PageSize: 1000,
			Seen: &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}}).GetItems()
		deny := item(rng.IntN(testItems))
		if rng.IntN(2) == 0 {
			r.Filter = &pb.ItemFilter{DenyItemIds: []string{deny}, NoCategories: []string{"c3"}}
		}
		if rng.IntN(3) > 0 {
			r.Diversity = &pb.Diversity{MaxPerCategory: int32(rng.IntN(4))}
			if rng.IntN(3) > 0 {
				r.Diversity.Lambda = proto.Float64(float64(rng.IntN(5)) / 4)
			}
		}
		places := rng.Perm(int(r.PageSize))
		for at, i := range rng.Perm(testItems + 1)[:rng.IntN(int(r.PageSize))] {
			r.Pinned = append(r.Pinned, &pb.Pin{ItemId: item(i), Position: int32(places[at] + 1)})
		}
		r.Explain = int32(rng.IntN(2))
		o := placeOracle{all: all,
			excluded: func(id string) bool {
				return user == "ann" && slices.Contains([]string{item(4), item(9), item(20)}, id)
			},
			passes: func(id string) bool {
				return id != hidden && (r.Filter == nil || id != deny &&
					!slices.Contains(categories[id], 3))
			},
			row: row, alike: lease.Alike, category: categories}
		got := ts.ask(t, r)
		mustSame(t, o.list(r), itemIDs(got), "trial %d, %v", trial, r)
		scores := map[string]float64{}
		for _, i := range all {
			scores[i.GetItemId()] = i.GetScore()
		}
		for _, i := range got.GetItems() {
			pinned := slices.ContainsFunc(r.Pinned, func(p *pb.Pin) bool { return p.ItemId == i.ItemId })
			if (i.GetSource() == pb.ResultSource_RESULT_SOURCE_PINNED) != pinned {
				t.Errorf("trial %d: %s has the source %s", trial, i.GetItemId(), i.GetSource())
			}
			same(t, scores[i.GetItemId()], i.GetScore(), "trial %d: %s scores", trial,
				i.GetItemId())
			if pinned && o.excluded(i.GetItemId()) {
				pinnedSeen++
			}
		}
		mustSame(t, itemIDs(got), itemIDs(ts.ask(t, r)), "trial %d asked again (-first +second)",
			trial)
	}
	if pinnedSeen == 0 {
		t.Error("no pinned item was a seen one")
	}
}

// What does not go with diversity or pins is refused by name.
func TestPlacementRefuses(t *testing.T) {
	ts := startNamed(t, "learned")
	pins := func(p ...*pb.Pin) []*pb.Pin { return p }
	for name, c := range map[string]struct {
		change func(r *pb.RecommendRequest)
		fields []string
	}{
		"diversity": {func(r *pb.RecommendRequest) {
			r.Diversity = &pb.Diversity{MaxPerCategory: -1, MaxNewItems: 1001,
				Lambda: proto.Float64(1.5)}
			r.PageSize, r.Exploration, r.Paged = 101, thompson(1, 1), true
		}, []string{"diversity.max_per_category", "diversity.max_new_items", "diversity.lambda", "page_size", "exploration",
			"paged"}},
		"pins": {func(r *pb.RecommendRequest) {
			r.Pinned = pins(&pb.Pin{ItemId: "a", Position: 1}, &pb.Pin{ItemId: "a", Position: 11},
				&pb.Pin{Position: 1})
			r.Packed, r.PageToken = true, "x"
		}, []string{"pinned[1].position", "pinned[1].item_id", "pinned[2].item_id",
			"pinned[2].position", "packed", "page_token"}},
	} {
		r := forUser("ann")
		c.change(r)
		_, err := ts.recommend.Recommend(context.Background(), r)
		same(t, c.fields, problemOf(t, err).Fields, "%s: fields", name)
	}
}

func lambdaOf(d *pb.Diversity) *float64 {
	if d == nil {
		return nil
	}
	return d.Lambda
}

// A list has its shares of sets whose items are far behind, of all kinds of lists and filters.
func TestSharesOfLists(t *testing.T) {
	const items = 1000
	m := randomModel(t, items, 8)
	ts := start(t, setup{config: quiet, open: func() (*model.Model, error) { return m, nil }})
	id := func(i int) string { return fmt.Sprintf("item %08d", i) }
	for i := range items {
		of := &pb.Item{ItemId: id(i), Categories: []string{fmt.Sprint("c", i%40)}}
		if i%50 == 7 {
			of.Labels = []string{"own"}
		}
		of.Hidden = proto.Bool(i == 57)
		ts.put(t, of)
	}
	own := func(i *pb.ScoredItem) bool {
		return strings.HasSuffix(i.GetItemId(), "07") || strings.HasSuffix(i.GetItemId(), "57")
	}
	shares := func(least int32, most *int32) *pb.Diversity {
		return &pb.Diversity{Shares: []*pb.Share{{AtLeast: least, AtMost: most,
			Filter: &pb.ItemFilter{AnyLabels: []string{"own"}}}}}
	}
	var allow []string
	for i := range 500 {
		allow = append(allow, id(i))
	}
	for at, change := range []func(r *pb.RecommendRequest){
		func(*pb.RecommendRequest) {},
		func(r *pb.RecommendRequest) { r.Filter = &pb.ItemFilter{AllowItemIds: allow} },
		func(r *pb.RecommendRequest) { // few items: c7 and c17 have the own ones, c1 many more
			r.Filter = &pb.ItemFilter{AnyCategories: []string{"c7", "c17"}}
		},
		func(r *pb.RecommendRequest) { r.Filter = &pb.ItemFilter{AnyCategories: []string{"c7"}} },
		func(r *pb.RecommendRequest) { r.Filter = &pb.ItemFilter{NoCategories: []string{"c7"}} },
		func(r *pb.RecommendRequest) { r.Subject = forUser("nobody").Subject },
		func(r *pb.RecommendRequest) { r.List = pb.ListKind_LIST_KIND_POPULAR },
	} {
		req := page(forItems(items), items)
		req.Filter, req.Boosts = &pb.ItemFilter{}, nil
		change(req)
		whole := ts.ask(t, req).GetItems()
		var mine, rest []*pb.ScoredItem
		for _, i := range whole {
			if own(i) {
				mine = append(mine, i)
			} else {
				rest = append(rest, i)
			}
		}
		for _, n := range []int{1, 4, 10} {
			for _, least := range []int{0, 2, 6, 20} {
				req.PageSize, req.Diversity = int32(n), shares(int32(least), nil)
				var want []string
				missing := min(least, len(mine), n)
				for _, i := range whole { // in order, as long as there is room for those that are missing
					if own(i) || len(want)+missing < n {
						want = append(want, i.GetItemId())
						if own(i) {
							missing = max(0, missing-1)
						}
					}
				}
				got := itemIDs(ts.ask(t, req))
				mustSame(t, want[:min(n, len(want))], got, "change %d: at least %d of %d", at, least, n)
			}
		}
		req.PageSize, req.Diversity = 10, shares(0, proto.Int32(0))
		for i, got := range ts.ask(t, req).GetItems() {
			same(t, rest[i].GetItemId(), got.GetItemId(), "change %d: none of the set", at)
		}
	}
	bad := page(forItems(items), 10)
	bad.Diversity = shares(3, proto.Int32(2))
	bad.Diversity.Shares = append(bad.Diversity.Shares, &pb.Share{AtLeast: -1})
	_, err := ts.recommend.Recommend(t.Context(), bad)
	same(t, []string{"diversity.shares[0]", "diversity.shares[1].at_least",
		"diversity.shares[1].filter"}, problemOf(t, err).Fields, "fields")
	bad.Diversity = &pb.Diversity{Shares: []*pb.Share{{Filter: &pb.ItemFilter{
		NamedFilters: []string{"ours"}}}}}
	_, err = ts.recommend.Recommend(t.Context(), bad)
	check.Says(t, err, "diversity.shares[0].filter.named_filters[0] is the name of no filter", "a name")
}

// Shares beside other bounds: the list has what can be had within all of them, is full, and says
// what is missing.
func TestSharesBesideBounds(t *testing.T) {
	const items, size = 1000, 10
	m := randomModel(t, items, 8)
	ts := start(t, setup{config: quiet, open: func() (*model.Model, error) { return m, nil }})
	var all []*pb.Item
	for i := range items { // the own ones are of c7, c17, c27 and c37
		of := &pb.Item{ItemId: fmt.Sprintf("item %08d", i), Categories: []string{fmt.Sprint("c", i%40)}}
		of.Labels = []string{"most"}
		if i%50 == 7 {
			of.Labels = []string{"own"}
		}
		all = append(all, of)
	}
	ts.put(t, all...)
	own := &pb.ItemFilter{AnyLabels: []string{"own"}}
	for _, c := range []struct {
		diversity *pb.Diversity
		want      int // own items
		unmet     bool
	}{
		{&pb.Diversity{Shares: []*pb.Share{{Filter: own, AtLeast: 4}}, MaxPerCategory: 1}, 4, false},
		{&pb.Diversity{Shares: []*pb.Share{{Filter: own, AtLeast: 6}}, MaxPerCategory: 1}, 4, true},
		{&pb.Diversity{Shares: []*pb.Share{{Filter: own, AtLeast: 6}}, MaxPerCategory: 2}, 6, false},
		{&pb.Diversity{Shares: []*pb.Share{{Filter: own, AtLeast: 8},
			{Filter: own, AtMost: proto.Int32(2)}}}, 2, true},
		{&pb.Diversity{Shares: []*pb.Share{{Filter: own, AtLeast: 3},
			{Filter: &pb.ItemFilter{AnyCategories: []string{"c7", "c17"}}, AtMost: proto.Int32(0)}}}, 3, false},
		{&pb.Diversity{Shares: []*pb.Share{{Filter: &pb.ItemFilter{AnyLabels: []string{"none"}},
			AtLeast: 3}}}, -1, true},
		{&pb.Diversity{Shares: []*pb.Share{{Filter: own, AtLeast: size + 1}}}, size, true},
		{&pb.Diversity{Shares: []*pb.Share{{Filter: &pb.ItemFilter{AnyLabels: []string{"most"}},
			AtMost: proto.Int32(1)}}}, size - 1, false}, // all others are own
	} {
		req := page(forItems(items), size)
		req.Diversity = c.diversity
		got := ts.ask(t, req)
		n := 0
		for _, i := range got.GetItems() {
			if at := i.GetItemId(); strings.HasSuffix(at, "07") || strings.HasSuffix(at, "57") {
				n++
			}
		}
		unmet := slices.Contains(got.GetDegradations(), pb.Degradation_DEGRADATION_SHARE_NOT_MET)
		if len(got.GetItems()) != size || c.want >= 0 && n != c.want || unmet != c.unmet ||
			len(got.GetDegradations()) > 1 {
			t.Errorf("%v: %d items, %d of them own, %v", c.diversity, len(got.GetItems()), n,
				got.GetDegradations())
		}
	}
}
