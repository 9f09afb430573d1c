package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/again"
)

// randomRow is a row of any kind.
func randomRow(rng *rand.Rand) *pb.PageRow {
	kinds := []pb.ListKind{0, 1, pb.ListKind_LIST_KIND_POPULAR, pb.ListKind_LIST_KIND_TRENDING,
		pb.ListKind_LIST_KIND_TOGETHER, pb.ListKind_LIST_KIND_BECAUSE}
	row := &pb.PageRow{Name: fmt.Sprint("row ", rng.IntN(100)),
		PageSize: int32(1 + rng.IntN(4)), List: kinds[rng.IntN(len(kinds))]}
	switch rng.IntN(8) {
	case 4:
		row.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
	case 5:
		row.Filter = &pb.ItemFilter{}
		for range 1 + rng.IntN(12) {
			row.Filter.AllowItemIds = append(row.Filter.AllowItemIds, item(rng.IntN(testItems)))
		}
	case 6:
		row.Diversity = &pb.Diversity{Lambda: proto.Float64(.5), MaxPerCategory: 2,
			Shares: []*pb.Share{{Filter: &pb.ItemFilter{AnyCategories: []string{"c2"}}, AtLeast: 1},
				{Filter: &pb.ItemFilter{AnyCategories: []string{"c1"}}, AtMost: proto.Int32(1)}}}
	case 0:
		row.Filter = &pb.ItemFilter{AnyCategories: []string{fmt.Sprint("c", rng.IntN(3))}}
	case 1:
		row.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_ONLY}
	case 2:
		row.Boosts = []*pb.Boost{{Weight: rng.NormFloat64(),
			Filter: &pb.ItemFilter{AnyCategories: []string{"c1"}}}}
	case 3:
		row.Diversity = &pb.Diversity{MaxPerCategory: 1}
	}
	return row
}

// rowAlone asks for a row as a list of its own, without items.
func (ts *testServer) rowAlone(
	t testing.TB, user string, row *pb.PageRow, without []string,
) *pb.RecommendResponse {
	t.Helper()
	req := forUser(user)
	req.PageSize, req.List, req.Seen = row.GetPageSize(), row.GetList(), row.GetSeen()
	req.Boosts, req.Diversity = row.GetBoosts(), row.GetDiversity()
	req.Filter = &pb.ItemFilter{}
	if row.GetFilter() != nil {
		req.Filter = proto.CloneOf(row.GetFilter())
	}
	req.Filter.DenyItemIds = append(req.Filter.DenyItemIds, without...)
	return ts.ask(t, req)
}

// startPage starts a server with items in three categories and users with histories.
func startPage(t *testing.T, open opened) (ts *testServer, users []string) {
	t.Helper()
	ts = start(t, setup{open: open})
	for i := range testItems {
		ts.put(t, &pb.Item{ItemId: item(i), Categories: []string{fmt.Sprint("c", i%3)}})
	}
	for u := range 4 {
		users = append(users, fmt.Sprint("user ", u)) // the first one has no history
		for i := range 2 * u {
			ts.observe(t, newEvent(users[u], 2*u+i%u)) // each item twice
		}
	}
	return ts, users
}

// causeOf is the item that a row BECAUSE of one is about: that of the first row is the newest one.
func causeOf(req *pb.RecommendPageRequest, user string, row int) string {
	var u, before int
	_, _ = fmt.Sscanf(user, "user %d", &u)
	for _, r := range req.GetRows()[:row] {
		if r.GetList() == pb.ListKind_LIST_KIND_BECAUSE {
			before++
		}
	}
	if req.GetRows()[row].GetList() != pb.ListKind_LIST_KIND_BECAUSE || before >= u {
		return ""
	}
	return item(3*u - 1 - before)
}

// Each row is the list of Recommend without the items of the rows above it, and no item is on the
// page twice.
func TestPages(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]opened{"paper": named(t, "paper"),
		"learned": named(t, "learned"), "repeats": func() (*model.Model, error) {
			return comingBack(t, again.Spec{Decay: 0.6, Constant: 1, Recency: 2, Newest: 3}), nil
		}} {
		t.Run(name, func(t *testing.T) {
			ts, users := startPage(t, open)
			rng := rand.New(rand.NewPCG(1, 2))
			for range 200 {
				ts.checkPage(t, rng, users)
			}
		})
	}
}

// checkPage compares a random page with the lists that it is made of.
func (ts *testServer) checkPage(t *testing.T, rng *rand.Rand, users []string) {
	t.Helper()
	user := users[rng.IntN(len(users))]
	req := &pb.RecommendPageRequest{ByWorth: rng.IntN(2) == 0,
		Subject: &pb.RecommendPageRequest_UserId{UserId: user}}
	for range 1 + rng.IntN(6) {
		req.Rows = append(req.Rows, randomRow(rng))
	}
	page := reply(t, ts.recommend.RecommendPage, req)
	var above, order []string
	for _, got := range page.GetRows() {
		row := req.GetRows()[got.GetRow()]
		want := ts.rowAlone(t, user, row, above)
		if because := causeOf(req, user, int(got.GetRow())); because != want.GetBecauseItemId() {
			same(t, because, got.GetList().GetBecauseItemId(), "because_item_id")
			want = got.GetList() // TestPagesBecause
		}
		same(t, want, got.GetList(), "%v of %s", row, user)
		same(t, row.GetName(), got.GetName(), "name")
		above = append(above, itemIDs(got.GetList())...)
		order = append(order, fmt.Sprint(got.GetRow()))
	}
	same(t, len(req.GetRows()), len(order), "number of rows")
	n := len(above)
	slices.Sort(above)
	check.MustSame(t, n, len(slices.Compact(above)), "different items on the pages %v", above)
	if sorted := slices.IsSorted(order); !sorted && (!req.GetByWorth() || user == users[0]) {
		t.Fatalf("the rows of %s are in the order %v", user, order)
	}
	about := func(r *pb.PageRow) bool { return r.GetList() == pb.ListKind_LIST_KIND_BECAUSE }
	if req.GetByWorth() && !slices.ContainsFunc(req.GetRows(), about) && user != users[0] {
		ts.checkWorth(t, user, req, page)
	}
}

// worthOf is the mean of the personal scores of some items.
func (ts *testServer) worthOf(t testing.TB, user string, ids []string) float64 {
	t.Helper()
	if len(ids) == 0 {
		return math.Inf(-1)
	}
	sum := 0.0
	for _, s := range reply(t, ts.recommend.ScoreItems, &pb.ScoreItemsRequest{ItemIds: ids,
		Subject: &pb.ScoreItemsRequest_UserId{UserId: user},
		Seen:    &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}}).GetItems() {
		sum += s.GetScore()
	}
	return sum / float64(len(ids))
}

// checkWorth makes a page row by row: the next one is worth as much as any that is left.
func (ts *testServer) checkWorth(
	t testing.TB, user string, req *pb.RecommendPageRequest, page *pb.RecommendPageResponse,
) {
	t.Helper()
	var above []string
	left := map[int32]bool{}
	for i := range req.GetRows() {
		left[int32(i)] = true
	}
	shortest := testItems
	for _, row := range req.GetRows() {
		shortest = min(shortest, int(row.GetPageSize()))
	}
	worthOf := func(ids []string) float64 {
		return ts.worthOf(t, user, ids[:min(len(ids), shortest)])
	}
	for place, got := range page.GetRows() {
		most := math.Inf(-1)
		for i := range left {
			most = max(most, worthOf(itemIDs(ts.rowAlone(t, user, req.GetRows()[i], above))))
		}
		worth := math.Inf(-1)
		if got.Worth != nil {
			worth = got.GetWorth()
		}
		if !near(worth, worthOf(itemIDs(got.GetList()))) || !near(worth, most) {
			t.Fatalf("place %d: row %d is worth %v, want %v", place, got.GetRow(), worth, most)
		}
		delete(left, got.GetRow())
		above = append(above, itemIDs(got.GetList())...)
	}
}

// near reports whether two scores are the same but for rounding.
func near(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-6 }

// Rows because of items are about one after the other, the newest first, and then empty.
func TestPagesBecause(t *testing.T) {
	ts, users := startPage(t, named(t, "paper"))
	because := &pb.PageRow{List: pb.ListKind_LIST_KIND_BECAUSE, PageSize: 2}
	page := reply(t, ts.recommend.RecommendPage, &pb.RecommendPageRequest{
		Subject: &pb.RecommendPageRequest_UserId{UserId: users[2]},
		Rows:    []*pb.PageRow{because, because, because}})
	var above []string
	for i, want := range []string{item(5), item(4), ""} {
		got := page.GetRows()[i].GetList()
		same(t, want, got.GetBecauseItemId(), "because_item_id")
		if want == "" {
			same(t, 0, len(got.GetItems()), "items because of nothing")
			continue
		}
		like := reply(t, ts.recommend.SimilarItems, &pb.SimilarItemsRequest{ItemId: want,
			PageSize: 2, Filter: &pb.ItemFilter{DenyItemIds: append(above, item(4), item(5))}})
		same(t, similarIDs(like), itemIDs(got), "items because of %s", want)
		above = append(above, itemIDs(got)...)
	}
}

// What the model does not know of the history is told once.
func TestPagesUnknown(t *testing.T) {
	ts := start(t, setup{})
	h := forHistory(1).GetHistory()
	h.Entries = append(h.Entries, &pb.HistoryEntry{ItemId: "x"})
	for _, byWorth := range []bool{false, true} {
		page := reply(t, ts.recommend.RecommendPage, &pb.RecommendPageRequest{
			Subject: &pb.RecommendPageRequest_History{History: h}, ByWorth: byWorth,
			Rows: []*pb.PageRow{{}, {Filter: &pb.ItemFilter{AllowItemIds: []string{"y"}}}}})
		same(t, []string{"x"}, page.GetUnknownItemIds(), "unknown_item_ids")
		same(t, 0, len(page.GetRows()[0].GetList().GetUnknownItemIds()), "those of a row")
		same(t, []string{"y"}, page.GetRows()[1].GetList().GetUnknownItemIds(), "those of a row")
	}
}

// What a page refuses is named by its row.
func TestValidatePage(t *testing.T) {
	ts := start(t, setup{})
	ann := &pb.RecommendPageRequest_UserId{UserId: "ann"}
	many := slices.Repeat([]*pb.PageRow{{PageSize: 60}}, 17)
	for _, tt := range []struct {
		name string
		req  *pb.RecommendPageRequest
		want []string
	}{
		{"nothing", &pb.RecommendPageRequest{}, []string{"subject", "rows"}},
		{"too much", &pb.RecommendPageRequest{Subject: ann, Rows: many}, []string{"rows"}},
		{"explained", &pb.RecommendPageRequest{Subject: ann, Rows: many[:2], Explain: 1},
			[]string{"rows"}},
		{"a bad row", &pb.RecommendPageRequest{Subject: ann, Rows: []*pb.PageRow{{}, {PageSize: -1, List: 99,
			Filter: &pb.ItemFilter{AnyCategories: []string{""}}}}},
			[]string{"rows[1].page_size", "rows[1].filter.any_categories[0]",
				"rows[1].list"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ts.recommend.RecommendPage(ctx(t), tt.req)
			checkFields(t, err, tt.want)
		})
	}
	_, err := ts.recommend.RecommendPage(ctx(t), &pb.RecommendPageRequest{
		Subject: ann, Rows: []*pb.PageRow{{}, {Filter: &pb.ItemFilter{NamedFilters: []string{"none"}}}}})
	same(t, problem{Code: codes.InvalidArgument, Reason: "UNKNOWN_FILTER",
		Fields: []string{"rows[1].filter.named_filters[0]"}}, problemOf(t, err), "the error")
}
