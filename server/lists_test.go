package server

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/servertest"
)

// kindOf asks for a kind of list for somebody who has seen two items.
func kindOf(kind pb.ListKind) *pb.RecommendRequest {
	return &pb.RecommendRequest{PageSize: 5, Explain: 1, List: kind,
		Subject: forHistory(1, 2).GetSubject()}
}

// TestListKinds asks a server for each kind of list while users take one item more often than the
// training users did, and another one that these liked most. Live quality tells what trends bring.
func TestListKinds(t *testing.T) {
	t.Parallel()
	ts := start(t, setup{
		open: func() (*model.Model, error) {
			return servertest.BuildModel(t, 1, servertest.Item, func(s *model.Spec) {
				s.Trend = trend.Spec{HalfLife: 100, Span: 1, Gain: 0.5, Power: 0.5}
			}), nil
		},
		config: func(c *Config) {
			c.ExtendEvery, c.Now, c.QualitySample = 20*time.Millisecond, nil, 1
		},
	})
	for _, boosts := range [][]*pb.Boost{nil, {{Weight: 1}}} {
		trending := kindOf(pb.ListKind_LIST_KIND_TRENDING)
		trending.Boosts = boosts
		none, want := ts.ask(t, trending), []pb.Degradation{pb.Degradation_DEGRADATION_NO_TRENDS}
		if len(none.GetItems()) != 0 || !slices.Equal(none.GetDegradations(), want) {
			t.Errorf("before there are trends %v are trending, with %v", listOf(none),
				none.GetDegradations())
		}
	}
	similar := &pb.SimilarItemsRequest{ItemId: item(3), PageSize: testItems}
	like := ts.similar(t, similar)
	for u := range 60 {
		ts.observe(t, newEvent(fmt.Sprint("user-", u), 7))
		if u < 3 {
			ts.observe(t, newEvent(fmt.Sprint("user-", u), 9)) // is no evidence yet
		}
	}
	eventually(t, "there are trends of all", func() bool {
		list := ts.ask(t, kindOf(pb.ListKind_LIST_KIND_TRENDING)).GetItems()
		return len(list) > 0 && list[0].GetScore() > 5
	})
	same(t, like, ts.similar(t, similar), "what goes with an item, whatever is trending")
	personal := ts.ask(t, kindOf(pb.ListKind_LIST_KIND_UNSPECIFIED))
	for kind, name := range pb.ListKind_name { // a rule about all items changes no order
		plain, boosted := kindOf(pb.ListKind(kind)), kindOf(pb.ListKind(kind))
		boosted.Boosts = []*pb.Boost{{Weight: 1}}
		want, got := ts.ask(t, plain), ts.ask(t, boosted)
		same(t, listed(want), listed(got), "%s with a boost", name)
		for i, x := range got.GetItems() {
			by := x.GetExplanation()
			rule := 0.0
			for _, r := range by.GetRules() {
				rule += r.GetContribution()
			}
			if x.GetExplanation() == nil { // its spread is that of the list's first and last items
				rule = got.GetItems()[0].GetScore() - want.GetItems()[0].GetScore()
			}
			if before := want.GetItems()[i]; by.GetTrend() != before.GetExplanation().GetTrend() ||
				math.Abs(x.GetScore()-rule-before.GetScore()) > 1e-5*(1+x.GetScore()) {
				t.Errorf("%s with a boost has %v, and %v without", name, x, before)
			}
		}
	}
	for kind, want := range map[pb.ListKind]struct {
		source pb.ResultSource
		most   int
	}{
		pb.ListKind_LIST_KIND_TRENDING:       {pb.ResultSource_RESULT_SOURCE_TRENDING, 1},
		pb.ListKind_LIST_KIND_POPULAR:        {pb.ResultSource_RESULT_SOURCE_POPULAR, 5},
		pb.ListKind_LIST_KIND_WITHOUT_TRENDS: {pb.ResultSource_RESULT_SOURCE_PERSONALIZED, 5},
		pb.ListKind_LIST_KIND_TOGETHER:       {pb.ResultSource_RESULT_SOURCE_SIMILAR, 5},
		pb.ListKind_LIST_KIND_BECAUSE:        {pb.ResultSource_RESULT_SOURCE_SIMILAR, 5},
	} {
		list := ts.ask(t, kindOf(kind))
		plain := kind != pb.ListKind_LIST_KIND_TRENDING && kind != pb.ListKind_LIST_KIND_POPULAR
		if first := list.GetItems()[0]; first.GetSource() != want.source ||
			len(list.GetItems()) != want.most || !plain && first.GetItemId() != item(7) {
			t.Errorf("%s: %v by %s, want %d by %s", kind, listOf(list), first.GetSource(),
				want.most, want.source)
		}
		for _, x := range list.GetItems() {
			if x.GetExplanation().GetTrend() != 0 || x.GetItemId() == item(1) {
				t.Errorf("%s: %v is seen, or has a trend", kind, x)
			}
		}
		if strings.Contains(list.GetModelVersion(), "~") == plain {
			t.Errorf("%s: the version is %s", kind, list.GetModelVersion())
		}
		pinned := kindOf(kind)
		pinned.Pinned = []*pb.Pin{{ItemId: item(9), Position: 1}}
		first := ts.ask(t, pinned).GetItems()[0]
		if first.GetItemId() != item(9) || !(first.GetScore() > 0) {
			t.Errorf("%s: the pinned item is %v", kind, first)
		}
		few := kindOf(kind)
		few.Filter = &pb.ItemFilter{AllowItemIds: []string{item(7), item(9), item(11)}}
		if got := ts.ask(t, few).GetItems(); got[0].GetItemId() != item(7) && !plain {
			t.Errorf("%s: of few items %v is the first one", kind, got[0])
		}
	}
	mine := kindOf(pb.ListKind_LIST_KIND_POPULAR)
	mine.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_ONLY}
	if got := ts.ask(t, mine); len(got.GetItems()) != 2 || len(got.GetDegradations()) > 0 {
		t.Errorf("of two own items %v are popular, with %v", listOf(got), got.GetDegradations())
	}
	if !slices.ContainsFunc(personal.GetItems(), func(x *pb.ScoredItem) bool {
		return x.GetExplanation().GetTrend() != 0
	}) {
		t.Errorf("no item of the personal list has a trend: %v", personal)
	}
	ts.observe(t, newEvent("another", 7)) // the most popular item of now
	ranks, _ := ts.awaitRanks(t, 64)
	if on, off := ranks["serving"], ranks["without-trends"]; on.Count != off.Count ||
		on.Sum >= off.Sum {
		t.Errorf("the ranks with trends are %v, and without them %v", on, off)
	}
}
