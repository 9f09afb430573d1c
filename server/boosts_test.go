package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/items"
	"github.com/gsimc/gsimc/server/internal/recommend"
)

// randomBoosts draws rules about the items of randomItem.
func randomBoosts(rng *rand.Rand) (boosts []*pb.Boost) {
	for at := range 1 + rng.IntN(3) {
		b := &pb.Boost{Name: fmt.Sprint("rule ", at), Weight: rng.NormFloat64()}
		if rng.IntN(3) > 0 {
			b.Filter = randomFilter(rng)
			b.Filter.AllowItemIds, b.Filter.DenyItemIds = nil, nil
		}
		if rng.IntN(2) == 0 {
			b.By = &pb.NumberCurve{Number: "price", Shape: pb.NumberCurve_Shape(rng.IntN(5)),
				Origin: rng.NormFloat64(), Scale: 1 + rng.Float64()}
			if b.By.Shape == pb.NumberCurve_SHAPE_AGE {
				b.By.Number, b.By.Scale = "released", 1000
			}
		}
		boosts = append(boosts, b)
	}
	return boosts
}

// gainOf is the rule of a boost for one item, spelled out, in spreads.
func gainOf(b *pb.Boost, i *pb.Item, now time.Time) float64 {
	shown := proto.CloneOf(i) // rules are about items whether they are shown or not
	shown.Hidden, shown.AvailableFrom, shown.AvailableUntil = nil, nil, nil
	if !lets(b.GetFilter(), shown, now) {
		return 0
	}
	by := b.GetBy()
	if by == nil {
		return b.GetWeight()
	}
	x, there := i.GetNumbers()[by.GetNumber()]
	z := (x - by.GetOrigin()) / by.GetScale()
	switch {
	case !there:
		return 0
	case by.GetShape() == pb.NumberCurve_SHAPE_LOG:
		return b.GetWeight() * math.Log(1+max(0, z))
	case by.GetShape() == pb.NumberCurve_SHAPE_GAUSS:
		return b.GetWeight() * math.Exp(-z*z/2)
	case by.GetShape() == pb.NumberCurve_SHAPE_AGE:
		age := max(0, float64(now.Truncate(time.Minute).Unix())-x)
		return b.GetWeight() * math.Pow(2, -age/by.GetScale())
	}
	return b.GetWeight() * max(0, min(z, 1))
}

// spreadOf is the unit of weights by its definition: the median distance of the first and the
// hundredth place, or the last one, in lists for single items, the 16 most popular ones.
func spreadOf(t *testing.T, service *recommend.Service) float64 {
	t.Helper()
	var spreads []float64
	popular := page(forUser("nobody"), 16)
	for _, i := range check.Get(service.Recommend(t.Context(), popular))(t).GetItems() {
		n := check.Get(strconv.Atoi(strings.TrimPrefix(i.GetItemId(), "item-")))(t)
		of := check.Get(service.Recommend(t.Context(), page(forHistory(n), 100)))(t).GetItems()
		spreads = append(spreads, of[0].GetScore()-of[len(of)-1].GetScore())
	}
	slices.Sort(spreads)
	return spreads[len(spreads)/2]
}

// TestBoostsAgainstOracle compares lists with boosts with those of all scores and of the rules one
// by one, while items change; batches, scores of given items and explanations say the same.
func TestBoostsAgainstOracle(t *testing.T) {
	t.Parallel()
	var clock atomic.Pointer[time.Time]
	rng := rand.New(rand.NewPCG(29, 2))
	ts := startLearnedAt(t, &clock)
	now := *clock.Load()
	catalogue := items.New(items.Deps{Catalogue: ts.catalogue, Models: ts.arms.Main().Models})
	known := map[string]*pb.Item{}
	service, boosts := ts.services.recommend, randomBoosts(rng)
	personal := spreadOf(t, service)
	all := check.Get(service.Recommend(t.Context(), page(forUser("nobody"), testItems)))(t).GetItems()
	ofPopular := all[0].GetScore() - all[min(100, len(all))-1].GetScore()
	for round := range 1000 {
		if rng.IntN(3) == 0 {
			id := item(rng.IntN(testItems))
			known[id] = randomItem(rng, id, now)
			if len(known[id].Numbers) > 0 {
				known[id].Numbers["released"] = float64(now.Unix() + int64(rng.IntN(9000)) - 8000)
			}
			check.Get(catalogue.BatchUpsertItems(t.Context(), replace(known[id])))(t)
		}
		if rng.IntN(2) == 0 { // others come again
			boosts = randomBoosts(rng)
		}
		req, spread := page(forHistory(rng.Perm(testItems)[:1+rng.IntN(4)]...), testItems), personal
		popular := rng.IntN(4) == 0
		if popular {
			req.Subject, spread = &pb.RecommendRequest_UserId{UserId: "nobody"}, ofPopular
		}
		plain := check.Get(service.Recommend(t.Context(), req))(t)
		want, gains := map[string]float64{}, map[string][]float64{}
		for _, i := range plain.GetItems() {
			want[i.GetItemId()] = i.GetScore()
			attributes := known[i.GetItemId()]
			if attributes == nil {
				attributes = &pb.Item{ItemId: i.GetItemId()}
			}
			for _, b := range boosts {
				want[i.GetItemId()] += spread * gainOf(b, attributes, now)
				gains[i.GetItemId()] = append(gains[i.GetItemId()], spread*gainOf(b, attributes, now))
			}
		}
		req.Boosts, req.PageSize, req.Explain = boosts, int32(1+rng.IntN(testItems)), 1
		got := check.Get(service.Recommend(t.Context(), req))(t)
		wantBoosted(t, fmt.Sprint("round ", round), got, want, int(req.PageSize))
		subject := &pb.BatchSubject{Subject: &pb.BatchSubject_History{History: req.GetHistory()}}
		scores := &pb.ScoreItemsRequest{Boosts: boosts, Subject: &pb.ScoreItemsRequest_History{
			History: req.GetHistory()}}
		if popular {
			subject.Subject = &pb.BatchSubject_UserId{UserId: "nobody"}
			scores.Subject = &pb.ScoreItemsRequest_UserId{UserId: "nobody"}
		} else {
			wantRules(t, got, boosts, gains)
		}
		many := check.Get(service.BatchRecommend(t.Context(), &pb.BatchRecommendRequest{
			Subjects: []*pb.BatchSubject{subject}, PageSize: req.PageSize, Boosts: boosts}))(t)
		mustSame(t, scoresByID(got), scoresByID(many.GetResults()[0].GetResponse()), "the batch")
		for _, i := range got.GetItems() {
			scores.ItemIds = append(scores.ItemIds, i.GetItemId())
		}
		scored := check.Get(service.ScoreItems(t.Context(), scores))(t)
		mustSame(t, scoresByID(got), scoresByID(&pb.RecommendResponse{Items: scored.GetItems()}),
			"the scores of the items")
	}
}

// wantBoosted checks a list of n items against all scores, and that its explanations add up.
func wantBoosted(
	t *testing.T, what string, got *pb.RecommendResponse, want map[string]float64, n int,
) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*max(1, math.Abs(a), math.Abs(b)) }
	if n = min(n, len(want)); len(got.GetItems()) != n {
		t.Fatalf("%s: %d items, want %d", what, len(got.GetItems()), n)
	}
	least := math.Inf(1)
	for _, i := range got.GetItems() {
		if i.GetScore() > least || !near(i.GetScore(), want[i.GetItemId()]) {
			t.Fatalf("%s: %s has score %v behind %v, want %v", what, i.GetItemId(), i.GetScore(),
				least, want[i.GetItemId()])
		}
		least = i.GetScore()
		delete(want, i.GetItemId())
		x := i.GetExplanation()
		if i.GetSource() == pb.ResultSource_RESULT_SOURCE_POPULAR {
			continue
		}
		sum := x.GetBase() + x.GetTrend() + x.GetRemainder()
		for _, c := range x.GetContributions() {
			sum += c.GetContribution()
		}
		for _, r := range x.GetRules() {
			sum += r.GetContribution()
		}
		if !near(sum, i.GetScore()) {
			t.Fatalf("%s: the explanation of %s adds up to %v, not %v: %v", what, i.GetItemId(), sum,
				i.GetScore(), x)
		}
	}
	for id, score := range want {
		if score > least && !near(score, least) {
			t.Fatalf("%s: %s with score %v is not on the list that ends with %v", what, id, score,
				least)
		}
	}
}

// wantRules checks what the explanations of a list say of each boost.
func wantRules(
	t *testing.T, got *pb.RecommendResponse, boosts []*pb.Boost, gains map[string][]float64,
) {
	t.Helper()
	for _, i := range got.GetItems() {
		rules := i.GetExplanation().GetRules()
		check.MustSame(t, len(boosts), len(rules),
			"number of the rules %v of %s", rules, i.GetItemId())
		for at, want := range gains[i.GetItemId()] {
			if got := rules[at].GetContribution(); math.Abs(got-want) > 1e-5*max(1, math.Abs(want)) ||
				rules[at].GetName() != boosts[at].GetName() {
				t.Fatalf("%s: rule %d is %v, want %v by %v", i.GetItemId(), at, rules[at], want,
					boosts[at])
			}
		}
	}
}

// Boosts by name do what they do in requests, of batches and of scores too. Boosts are left out of
// lists that are not personal, and the pages of a list are the list.
func TestBoostsOfPages(t *testing.T) {
	var clock atomic.Pointer[time.Time]
	file := filepath.Join(t.TempDir(), "filters.yaml")
	must(t, os.WriteFile(file, []byte("ours: {any_labels: [own], weight: 50}\n"), 0o600))
	ts := startLearnedAt(t, &clock, func(c *Config) { c.FiltersFile = file })
	ts.put(t, &pb.Item{ItemId: item(3), Labels: []string{"own"}},
		&pb.Item{ItemId: item(7), Labels: []string{"own"}})
	own := []*pb.Boost{{Weight: 50, Filter: &pb.ItemFilter{AnyLabels: []string{"own"}}}}
	req := page(forHistory(1, 2), 10)
	req.Boosts = own
	whole := reply(t, ts.recommend.Recommend, req)
	first := []string{whole.GetItems()[0].GetItemId(), whole.GetItems()[1].GetItemId()}
	slices.Sort(first)
	same(t, []string{item(3), item(7)}, first, "the own brand")
	req.Boosts, req.NamedBoosts, req.Explain = nil, []string{"ours"}, 1
	byName := reply(t, ts.recommend.Recommend, req)
	same(t, scoresByID(whole), scoresByID(byName), "the boost by name")
	same(t, "ours", byName.GetItems()[0].GetExplanation().GetRules()[0].GetName(), "the rule's name")
	many := reply(t, ts.recommend.BatchRecommend, &pb.BatchRecommendRequest{PageSize: 10,
		NamedBoosts: req.NamedBoosts, Subjects: []*pb.BatchSubject{
			{Subject: &pb.BatchSubject_History{History: req.GetHistory()}}}})
	same(t, scoresByID(whole), scoresByID(many.GetResults()[0].GetResponse()), "a batch by name")
	one := reply(t, ts.recommend.ScoreItems, &pb.ScoreItemsRequest{NamedBoosts: req.NamedBoosts,
		Subject: &pb.ScoreItemsRequest_History{History: req.GetHistory()},
		ItemIds: []string{whole.GetItems()[0].GetItemId()}})
	same(t, whole.GetItems()[0].GetScore(), one.GetItems()[0].GetScore(), "a score by name")
	req.NamedBoosts[0] = "theirs"
	_, err := ts.recommend.Recommend(t.Context(), req)
	check.Says(t, err, "named_boosts[0] is the name of no boost; this server has ours", "no boost")
	req.Boosts, req.NamedBoosts, req.Explain = []*pb.Boost{{Weight: 1}, {Weight: 1,
		Filter: &pb.ItemFilter{NamedFilters: []string{"cheap"}}}}, nil, 0
	_, err = ts.recommend.Recommend(t.Context(), req)
	check.Says(t, err, "boosts[1].filter.named_filters[0] is the name of no filter", "no filter")
	req.Boosts = own
	var ids []string
	req.PageSize, req.Paged = 3, true
	for len(ids) < 10 {
		r := reply(t, ts.recommend.Recommend, req)
		ids = append(ids, scoresByID(r)...)
		req.PageToken = r.GetNextPageToken()
	}
	same(t, scoresByID(whole), ids[:10], "the pages")
	req.Boosts = []*pb.Boost{{Weight: 49, Filter: own[0].Filter}}
	if _, err := ts.recommend.Recommend(t.Context(), req); err == nil {
		t.Error("the next page by another boost is served")
	}
	popular := page(forUser("nobody"), 10)
	popular.Boosts, popular.Pinned = own, []*pb.Pin{{ItemId: item(7), Position: 4}}
	popular.Filter = &pb.ItemFilter{DenyItemIds: []string{item(5)}}
	got := reply(t, ts.recommend.Recommend, popular).GetItems()
	same(t, []string{item(3), item(7)}, []string{got[0].GetItemId(), got[3].GetItemId()}, "popular items")
	if got[0].GetScore() < 2 || got[3].GetScore() < 2 || got[1].GetScore() > 1 {
		t.Errorf("popular items with a boost for two, of which one is pinned: %v", got)
	}
	popular.Filter = &pb.ItemFilter{AllowItemIds: []string{item(1), item(3)}}
	allowed := reply(t, ts.recommend.Recommend, popular).GetItems()
	same(t, got[0].GetScore(), allowed[0].GetScore(), "the score of one of two that are allowed")
}

// A boost raises the scores of its items and of no others, and brings them to the front: in lists
// with exploration, pins, diversity, an allow list, no trends or items of an extension, of either
// arm, and after other models were loaded.
func TestBoostsBesideAllElse(t *testing.T) {
	t.Parallel()
	var seed atomic.Uint64
	open := func() (*model.Model, error) { return newLearnedModel(t, seed.Add(1), true), nil }
	ts := start(t, setup{
		open: open,
		config: func(c *Config) {
			c.ExtendEvery, c.Now = 5*time.Millisecond, nil
			c.Arms = []Arm{{Name: "b", Open: open, Share: 50}}
		},
	})
	ts.put(t, &pb.Item{ItemId: item(3), Labels: []string{"own"}},
		&pb.Item{ItemId: novelty, Labels: []string{"own"}})
	ts.showNovelty(t, 3)
	extended := func() {
		for _, a := range ts.arms.All() {
			eventually(t, "the model of "+a.Name+" is extended", func() bool {
				l := a.Models.Acquire()
				defer l.Release()
				return knows(novelty)(l.Model)
			})
		}
	}
	extended()
	for at, change := range []func(r *pb.RecommendRequest){
		func(*pb.RecommendRequest) {},
		func(r *pb.RecommendRequest) { r.Exploration = thompson(7, 0.01) },
		func(r *pb.RecommendRequest) { r.Exploration = upperConfidence(0.01) },
		func(r *pb.RecommendRequest) { r.Pinned = []*pb.Pin{{ItemId: item(9), Position: 2}} },
		func(r *pb.RecommendRequest) { r.Diversity = &pb.Diversity{Lambda: proto.Float64(0.99)} },
		func(r *pb.RecommendRequest) { r.List = pb.ListKind_LIST_KIND_WITHOUT_TRENDS },
		func(r *pb.RecommendRequest) { // few items, and another model
			r.Filter = &pb.ItemFilter{AllowItemIds: []string{item(3), item(4), item(11), novelty}}
			check.Get(ts.admin.ReloadModel(t.Context(), &pb.ReloadModelRequest{}))(t)
			extended()
		},
	} {
		for user := range 4 { // some of each arm
			req := page(forUser(fmt.Sprint("someone-", user)), testItems)
			ts.observe(t, newEvent(req.GetUserId(), 20+user))
			change(req)
			plain := scoresOf(ts.ask(t, req))
			req.Boosts = []*pb.Boost{{Weight: 50, Filter: &pb.ItemFilter{AnyLabels: []string{"own"}}}}
			got := ts.ask(t, req)
			first := []string{got.GetItems()[0].GetItemId(), got.GetItems()[1].GetItemId()}
			if len(req.Pinned) > 0 {
				same(t, item(9), first[1], "the pinned item")
				first[1] = got.GetItems()[2].GetItemId()
			}
			slices.Sort(first)
			same(t, []string{item(3), novelty}, first, "change %d: the first items", at)
			for id, score := range scoresOf(got) {
				if own := id == item(3) || id == novelty; own != (score > plain[id]) ||
					!own && score != plain[id] {
					t.Errorf("change %d: the score of %s is %v, and %v without boosts", at, id, score,
						plain[id])
				}
			}
		}
	}
}

// scoresOf are the scores of a list by item.
func scoresOf(r *pb.RecommendResponse) map[string]float64 {
	scores := map[string]float64{}
	for _, i := range r.GetItems() {
		scores[i.GetItemId()] = i.GetScore()
	}
	return scores
}
