package server

import (
	"math/rand/v2"
	"slices"
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/recommend"
)

// asList is the list of all items for the subject of a request for scores.
func asList(req *pb.ScoreItemsRequest) *pb.RecommendRequest {
	list := recommend.ScoringList(req)
	list.PageSize = testItems
	return list
}

// The scores of any items, in any order, are those of the list of all items, with all that stands
// beside them.
func TestScoresAreThoseOfTheList(t *testing.T) {
	overModels(t, func(t *testing.T, open opened) {
		ts := startStill(t, open)
		rng := rand.New(rand.NewPCG(9, 1))
		for range 60 {
			checkScores(t, ts, randomScoring(rng))
		}
	}, "paper", "learned", "tastes")
}

// randomScoring draws a request, some of whose items are repeated, seen or unknown.
func randomScoring(rng *rand.Rand) *pb.ScoreItemsRequest {
	req := &pb.ScoreItemsRequest{Explain: int32(rng.IntN(2) * rng.IntN(4))}
	switch subject := []string{"ann", "nobody", ""}[rng.IntN(3)]; subject {
	case "":
		h := forHistory(rng.Perm(testItems + 2)[:1+rng.IntN(5)]...).GetHistory()
		req.Subject = &pb.ScoreItemsRequest_History{History: h}
	default:
		req.Subject = &pb.ScoreItemsRequest_UserId{UserId: subject}
	}
	if rng.IntN(2) == 0 {
		req.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
	}
	for range 1 + rng.IntN(2*testItems) {
		req.ItemIds = append(req.ItemIds, item(rng.IntN(testItems+2)))
	}
	return req
}

// checkScores compares the answer to a request with the list of all items.
func checkScores(t *testing.T, ts *testServer, req *pb.ScoreItemsRequest) {
	t.Helper()
	got := reply(t, ts.recommend.ScoreItems, req)
	full := ts.ask(t, asList(req))
	want := &pb.ScoreItemsResponse{ModelVersion: full.GetModelVersion(),
		UserRevision: full.GetUserRevision(), UnknownItemIds: full.GetUnknownItemIds(),
		Uncertainty: full.Uncertainty,
		Degradations: slices.DeleteFunc(full.GetDegradations(), func(d pb.Degradation) bool {
			return d == pb.Degradation_DEGRADATION_FILTER_TOO_NARROW
		})}
	m := newModel(t, 1)
	met := map[string]bool{}
	for _, id := range req.GetItemIds() {
		at := slices.Index(itemIDs(full), id)
		_, known := m.ItemIndex(id)
		switch {
		case met[id]:
		case at >= 0:
			want.Items = append(want.Items, full.GetItems()[at])
		case known:
			want.ExcludedItemIds = append(want.ExcludedItemIds, id)
		case !slices.Contains(want.UnknownItemIds, id):
			want.UnknownItemIds = append(want.UnknownItemIds, id)
		}
		met[id] = true
	}
	mustSame(t, want, got, "%v (-list +scores)", req)
}

// The rules of the fields are those of Recommend, and those of the list of items.
func TestValidateScoreItems(t *testing.T) {
	ts := start(t, setup{})
	ids := func(n int) []string { return slices.Repeat([]string{"i"}, n) }
	for _, tt := range []struct {
		name   string
		change func(*pb.ScoreItemsRequest)
		want   []string
	}{
		{"nothing wrong", func(*pb.ScoreItemsRequest) {}, nil},
		{"nothing set", func(r *pb.ScoreItemsRequest) { *r = pb.ScoreItemsRequest{} },
			[]string{"subject", "item_ids"}},
		{"no user", func(r *pb.ScoreItemsRequest) {
			r.Subject = &pb.ScoreItemsRequest_UserId{}
		}, []string{"user_id"}},
		{"no history", func(r *pb.ScoreItemsRequest) {
			r.Subject = &pb.ScoreItemsRequest_History{}
		}, []string{"history.entries"}},
		{"1000 ids", func(r *pb.ScoreItemsRequest) { r.ItemIds = ids(1000) }, nil},
		{"an empty id", func(r *pb.ScoreItemsRequest) { r.ItemIds = []string{"a", ""} },
			[]string{"item_ids[1]"}},
		{"100 explained", func(r *pb.ScoreItemsRequest) { r.ItemIds, r.Explain = ids(100), 1 },
			nil},
		{"101 explained", func(r *pb.ScoreItemsRequest) { r.ItemIds, r.Explain = ids(101), 1 },
			[]string{"item_ids"}},
		{"a bad policy", func(r *pb.ScoreItemsRequest) { r.Seen = &pb.SeenPolicy{Mode: 9} },
			[]string{"seen.mode"}},
		{"a bad token", func(r *pb.ScoreItemsRequest) { r.SessionToken = []byte{1} },
			[]string{"session_token"}},
		{"a history with a revision", func(r *pb.ScoreItemsRequest) {
			r.Subject = &pb.ScoreItemsRequest_History{History: forHistory(1).GetHistory()}
			r.MinUserRevision = 1
		}, []string{"min_user_revision"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &pb.ScoreItemsRequest{ItemIds: ids(1),
				Subject: &pb.ScoreItemsRequest_UserId{UserId: "u"}}
			tt.change(req)
			_, err := ts.recommend.ScoreItems(ctx(t), req)
			checkFields(t, err, tt.want)
		})
	}
}
