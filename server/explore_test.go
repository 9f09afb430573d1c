package server

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

func thompson(seed uint64, scale float64) *pb.Exploration {
	return &pb.Exploration{Strategy: &pb.Exploration_Thompson_{
		Thompson: &pb.Exploration_Thompson{Seed: seed, Scale: &scale},
	}}
}

func upperConfidence(beta float64) *pb.Exploration {
	return &pb.Exploration{Strategy: &pb.Exploration_UpperConfidence_{
		UpperConfidence: &pb.Exploration_UpperConfidence{Beta: &beta},
	}}
}

// startNamed is start with a named model.
func startNamed(t *testing.T, name string) *testServer {
	t.Helper()
	return start(t, setup{open: named(t, name)})
}

func exploring(req *pb.RecommendRequest, x *pb.Exploration, size int) *pb.RecommendRequest {
	req.Exploration, req.PageSize = x, int32(size)
	return req
}

func TestUncertainty(t *testing.T) {
	ts := startNamed(t, "tastes")
	if got := ts.ask(t, forUser("ann")).Uncertainty; got == nil || *got != 1 {
		t.Errorf("uncertainty about an unknown user is %v, want 1", got)
	}
	last := 1.0
	for i := range 5 {
		ts.observe(t, newEvent("ann", 3*i))
		got := ts.ask(t, forUser("ann"))
		if u := got.GetUncertainty(); u <= 0 || u >= last {
			t.Errorf("uncertainty after %d events is %v, before it was %v", i+1, u, last)
		} else {
			last = u
		}
		user := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "ann"}).GetUser()
		same(t, last, user.GetUncertainty(), "uncertainty by GetUser")
		for _, r := range got.GetItems() {
			if !(r.GetScoreStddev() > 0) {
				t.Errorf("score_stddev of %s is %v", r.GetItemId(), r.ScoreStddev)
			}
		}
	}
	// Where the data do not tell users apart, the uncertainty about a user would be 1 for everyone:
	// it is unset, while that of a score is told.
	constant := startNamed(t, "learned")
	constant.observe(t, newEvent("ann", 3))
	for _, user := range []string{"ann", "nobody"} {
		if got := constant.ask(t, forUser(user)); got.Uncertainty != nil {
			t.Errorf("a model that does not tell users apart gives %s the uncertainty %v", user,
				got.GetUncertainty())
		}
	}
	constant.saysNoUncertainty(t, "ann")
	if got := constant.ask(t, forUser("ann")).GetItems()[0]; got.ScoreStddev == nil {
		t.Error("a model that does not tell users apart gives no score_stddev")
	}
	// Without deviation, or without learned dynamics, nothing is said.
	for name, ts := range map[string]*testServer{"bands alone": startNamed(t, "bands alone"),
		"paper": start(t, setup{})} {
		got := ts.ask(t, forHistory(1, 2))
		if got.Uncertainty != nil || got.GetItems()[0].ScoreStddev != nil {
			t.Errorf("%s: uncertainty %v and score_stddev %v, want none", name, got.Uncertainty,
				got.GetItems()[0].ScoreStddev)
		}
		ts.observe(t, newEvent("ann", 3))
		ts.saysNoUncertainty(t, "ann")
	}
}

// saysNoUncertainty checks the summary of a user, and the one that an export begins with.
func (ts *testServer) saysNoUncertainty(t *testing.T, user string) {
	t.Helper()
	got := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: user})
	if got.GetUser().Uncertainty != nil {
		t.Errorf("GetUser: %v, want no uncertainty", got)
	}
	export, err := ts.users.ExportUser(ctx(t), &pb.ExportUserRequest{UserId: user})
	must(t, err)
	first, err := export.Recv()
	if err != nil || first.GetUser() == nil || first.GetUser().Uncertainty != nil {
		t.Errorf("ExportUser: %v, %v, want no uncertainty", first, err)
	}
}

func TestExplorationNeedsVariance(t *testing.T) {
	for name, ts := range map[string]*testServer{"bands alone": startNamed(t, "bands alone"),
		"paper": start(t, setup{})} {
		for _, x := range []*pb.Exploration{thompson(1, 1), upperConfidence(1)} {
			_, err := ts.recommend.Recommend(ctx(t), exploring(forHistory(1), x, 5))
			want := problem{Code: codes.FailedPrecondition, Reason: "NO_UNCERTAINTY"}
			same(t, want, problemOf(t, err), "%s", name)
		}
	}
}

func TestThompson(t *testing.T) {
	ts := startNamed(t, "learned")
	for _, i := range []int{4, 9, 20} {
		ts.observe(t, newEvent("ann", i))
	}
	plain := ts.ask(t, exploring(forUser("ann"), nil, testItems))
	mean := map[string]*pb.ScoredItem{}
	for _, r := range plain.GetItems() {
		mean[r.GetItemId()] = r
	}
	first := ts.ask(t, exploring(forUser("ann"), thompson(7, 1), testItems))
	same(t, uint64(7), first.GetExplorationSeed(), "exploration_seed")
	for _, r := range first.GetItems() {
		same(t, pb.ResultSource_RESULT_SOURCE_EXPLORATION, r.GetSource(), "source of %s",
			r.GetItemId())
		want := mean[r.GetItemId()]
		same(t, want.GetScore(), r.GetScore(), "score of %s", r.GetItemId())
		same(t, want.GetScoreStddev(), r.GetScoreStddev(), "score_stddev of %s", r.GetItemId())
	}
	same(t, first, ts.ask(t, exploring(forUser("ann"), thompson(7, 1), testItems)),
		"equal seeds, other answer")
	if cmp.Equal(itemIDs(first),
		itemIDs(ts.ask(t, exploring(forUser("ann"), thompson(8, 50), testItems)))) {
		t.Error("other seed, same order of all items")
	}
	same(t, itemIDs(plain),
		itemIDs(ts.ask(t, exploring(forUser("ann"), thompson(7, 0), testItems))),
		"scale 0 (-plain +explored)")
	drawn := ts.ask(t, exploring(forUser("ann"), thompson(0, 1), testItems))
	again := ts.ask(t,
		exploring(forUser("ann"), thompson(drawn.GetExplorationSeed(), 1), testItems))
	if drawn.GetExplorationSeed() == 0 || !cmp.Equal(drawn, again, protocmp.Transform()) {
		t.Errorf("the answer to seed 0 cannot be had again with the seed %d that it names",
			drawn.GetExplorationSeed())
	}
}

func TestUpperConfidence(t *testing.T) {
	ts := startNamed(t, "learned")
	for _, beta := range []float64{0, 1, 100} {
		got := ts.ask(t,
			exploring(forHistory(4, 9, 20), upperConfidence(beta), testItems)).GetItems()
		bound := func(r *pb.ScoredItem) float64 { return r.GetScore() + beta*r.GetScoreStddev() }
		same(t, testItems-3, len(got), "items")
		for i := 1; i < len(got); i++ {
			if slack := 1e-6 * math.Abs(bound(got[i])); bound(got[i]) > bound(got[i-1])+slack {
				t.Errorf("β = %v: place %d has the bound %v, place %d has %v", beta, i,
					bound(got[i-1]), i+1, bound(got[i]))
			}
		}
		few := ts.ask(t, exploring(forHistory(4, 9, 20), upperConfidence(beta), 5)).GetItems()
		same(t, got[:5], few, "β = %v: the first five of all are not the five", beta)
	}
}

// Without a usable history the prior is explored, and answers differ from draw to draw.
func TestExploreUnknownUser(t *testing.T) {
	ts := startNamed(t, "tastes")
	one := ts.ask(t, exploring(forUser("nobody"), thompson(1, 1), testItems))
	two := ts.ask(t, exploring(forUser("nobody"), thompson(2, 1), testItems))
	if cmp.Equal(itemIDs(one), itemIDs(two)) {
		t.Error("two draws for an unknown user are in the same order")
	}
	if !slices.Equal(one.GetDegradations(),
		[]pb.Degradation{pb.Degradation_DEGRADATION_UNKNOWN_USER}) || one.GetUncertainty() != 1 {
		t.Errorf("degradations %v, uncertainty %v", one.GetDegradations(), one.GetUncertainty())
	}
	req := exploring(forUser("nobody"), upperConfidence(1), 3)
	req.Explain = 5
	for _, r := range ts.ask(t, req).GetItems() {
		want := &pb.Explanation{Base: r.GetScore()}
		if d := cmp.Diff(want, r.GetExplanation(), protocmp.Transform(), approximately); d != "" {
			t.Errorf("explanation of %s (-want +got):\n%s", r.GetItemId(), d)
		}
	}
	weightless := newEvent("bob", 3)
	weightless.Value = proto.Float64(0)
	ts.observe(t, weightless)
	if got := ts.ask(t, exploring(forUser("bob"), thompson(1, 1), 3)); len(got.GetItems()) != 3 ||
		got.GetUncertainty() != 1 {
		t.Errorf("a user without usable history gets %v", got)
	}
}
