package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/recommend"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// pages asks for one page after the other, with sizes as they come.
func (ts *testServer) listPages(
	t *testing.T, req *pb.RecommendRequest, size func() int32,
) (ids []string) {
	t.Helper()
	req = proto.CloneOf(req)
	req.Paged = true
	for {
		req.PageSize = size()
		resp := ts.ask(t, req)
		ids = append(ids, itemIDs(resp)...)
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return ids
		}
		check.MustSame(t, valid.PageSize(req.GetPageSize()), len(resp.GetItems()),
			"items of a page that is not the last")
	}
}

// While nothing moves, the pages of a list are the list: nothing twice, and nothing left out.
func TestPagesAreTheList(t *testing.T) {
	ts := startStill(t, named(t, "learned"))
	filtered := forUser("ann")
	filtered.Filter = &pb.ItemFilter{DenyItemIds: []string{item(9)},
		AllowItemIds: []string{item(3), item(9), item(11), item(21), item(22), item(23), item(29)}}
	rng := rand.New(rand.NewPCG(6, 1))
	for name, req := range map[string]*pb.RecommendRequest{
		"user": forUser("ann"), "nobody": forUser("nobody"), "history": forHistory(3, 9, 27),
		"filtered": filtered,
		"draw":     exploring(forUser("ann"), thompson(7, 1), 0),
		"bounds":   exploring(forUser("ann"), upperConfidence(2), 0),
	} {
		whole := proto.CloneOf(req)
		whole.PageSize = testItems
		want := itemIDs(ts.ask(t, whole))
		for range 5 {
			got := ts.listPages(t, req, func() int32 { return int32(1 + rng.IntN(9)) })
			same(t, want, got, "%s (-list +pages)", name)
		}
	}
	// A draw that the server chooses is the same on all pages.
	req := exploring(forUser("ann"), thompson(0, 1), 3)
	req.Paged = true
	first := ts.ask(t, req)
	req.PageToken = first.GetNextPageToken()
	check.Same(t, first.GetExplorationSeed(), ts.ask(t, req).GetExplorationSeed(),
		"the seed of the next page")
	check.Same(t, "", ts.ask(t, forUser("ann")).GetNextPageToken(), "a token that nobody asked for")
}

// Over two hundred pages no item comes twice, though the user goes on, and models come and go that
// have other items and other orders. Each page is the best of what was not served.
func TestPagesWhileAllMoves(t *testing.T) {
	opened := 0
	ts := start(t, setup{open: func() (*model.Model, error) {
		opened++
		return randomModel(t, 1100-50*(opened%2), 12+4*(opened%2)), nil
	}})
	rng := rand.New(rand.NewPCG(7, 1))
	id := func(i int) string { return fmt.Sprintf("item %08d", i) }
	served := map[string]bool{}
	req := forUser("ann")
	req.Paged, req.PageSize = true, 4
	const pages = 200
	for page := range pages {
		ts.observe(t, &pb.Event{UserId: "ann", ItemId: id(rng.IntN(1100))})
		if page%25 == 24 {
			must(t, ts.Reload(ctx(t)))
		}
		whole := forUser("ann")
		whole.PageSize = 1000
		want := slices.DeleteFunc(itemIDs(ts.ask(t, whole)),
			func(id string) bool { return served[id] })[:4]
		resp := ts.ask(t, req)
		mustSame(t, want, itemIDs(resp), "page %d (-best that were not served +page)", page)
		for _, id := range itemIDs(resp) {
			if served[id] {
				t.Fatalf("page %d: %s comes again", page, id)
			}
			served[id] = true
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			t.Fatalf("page %d is the last one", page)
		}
		check.MustSame(t, session.PageTokenBytes(4*(page+1)), len(req.PageToken),
			"page %d: bytes of the token", page)
	}
	if opened < pages/25 || len(served) != 4*pages {
		t.Errorf("%d models, %d items", opened, len(served))
	}
}

// The pages of a list end at the bound of the token.
func TestPagesEnd(t *testing.T) {
	ts := start(t, setup{open: func() (*model.Model, error) {
		return randomModel(t, recommend.MaxServed+500, 4), nil
	}})
	ids := ts.listPages(t, forUser("nobody"), func() int32 { return 999 })
	slices.Sort(ids)
	check.Same(t, recommend.MaxServed, len(slices.Compact(ids)), "different items on all pages")
}

// A token is good for the request that it was made for, whatever its page size, and for no other.
func TestPageTokensRefused(t *testing.T) {
	ts := start(t, setup{})
	first := func(req *pb.RecommendRequest) string {
		req.Paged = true
		return ts.ask(t, req).GetNextPageToken()
	}
	token := first(forUser("ann"))
	with := func(change func(*pb.RecommendRequest)) *pb.RecommendRequest {
		req := forUser("ann")
		req.PageToken = token
		change(req)
		return req
	}
	longer := forHistory(1, 2)
	longer.PageToken = first(forHistory(1))
	for _, tt := range []struct {
		name string
		req  *pb.RecommendRequest
		good bool
	}{
		{"as it was", with(func(*pb.RecommendRequest) {}), true},
		{"another page size", with(func(r *pb.RecommendRequest) { r.PageSize = 3 }), true},
		{"a history that went on", longer, true},
		{"another user", with(func(r *pb.RecommendRequest) {
			r.Subject = forUser("bob").GetSubject()
		}), false},
		{"another filter", with(func(r *pb.RecommendRequest) {
			r.Filter = &pb.ItemFilter{DenyItemIds: []string{"x"}}
		}), false},
		{"another rule", with(func(r *pb.RecommendRequest) {
			r.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
		}), false},
		{"damaged", with(func(r *pb.RecommendRequest) { r.PageToken = "B" + token[1:] }), false},
		{"cut", with(func(r *pb.RecommendRequest) { r.PageToken = token[:20] }), false},
		{"huge", with(func(r *pb.RecommendRequest) {
			r.PageToken = string(make([]byte, 1<<20))
		}), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ts.recommend.Recommend(ctx(t), tt.req)
			if tt.good {
				checkFields(t, err, nil)
			} else {
				checkFields(t, err, []string{"page_token"})
			}
		})
	}
}
