package server

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// withArm is a setup with an arm b, which has another model and this share of the users.
func withArm(t testing.TB, st store.Store, share float64, more func(*Config)) setup {
	return setup{store: st, config: func(c *Config) {
		c.Arms = []Arm{{Name: "b", Share: share,
			Open: func() (*model.Model, error) { return newModel(t, 2), nil }}}
		if more != nil {
			more(c)
		}
	}}
}

// only is a setup of a server that has a model for all users.
func only(t testing.TB, st store.Store, seed uint64) setup {
	return setup{store: st, open: func() (*model.Model, error) { return newModel(t, seed), nil }}
}

// sameList compares answers but for what names the arm.
var sameList = cmp.Options{protocmp.Transform(),
	protocmp.IgnoreFields(&pb.RecommendResponse{}, "arm", "recommendation_id")}

// Each user has one arm, over restarts and in all calls, and the answers are wholly those of a
// server with the arm's model alone, at once after each event.
func TestArms(t *testing.T) {
	const users = 200
	st := memory.New()
	a, b := start(t, only(t, st, 1)), start(t, only(t, st, 2))
	ts := start(t, withArm(t, st, 30, nil))
	again := start(t, withArm(t, st, 30, nil))
	want := map[string]*testServer{"main": a, "b": b}
	of, count := map[string]string{}, map[string]int{}
	var subjects []*pb.BatchSubject
	for n := range 2 * users {
		user := fmt.Sprint("u", n%users)
		ts.observe(t, newEvent(user, (n*7+n/users)%testItems))
		got := ts.ask(t, forUser(user))
		arm := got.GetArm()
		if of[user] == "" {
			of[user] = arm
			count[arm]++
			subjects = append(subjects, &pb.BatchSubject{
				Subject: &pb.BatchSubject_UserId{UserId: user}})
		}
		if of[user] != arm || again.ask(t, forUser(user)).GetArm() != arm {
			t.Fatalf("%s had the arm %q and has %q", user, of[user], arm)
		}
		if d := cmp.Diff(want[arm].ask(t, forUser(user)), got, sameList); d != "" {
			t.Fatalf("%s of %q (-that model alone +with arms):\n%s", user, arm, d)
		}
	}
	if n := float64(count["b"]); math.Abs(n-0.3*users) > 4*math.Sqrt(0.21*users) {
		t.Errorf("b has %v of %d users, want 30 percent", n, users)
	}
	req := &pb.BatchRecommendRequest{Subjects: subjects, Filter: &pb.ItemFilter{
		AllowItemIds: []string{item(1), item(2), item(9), item(20), "unknown"}}}
	batch := reply(t, ts.recommend.BatchRecommend, req)
	for i, r := range batch.GetResults() {
		one := forUser(subjects[i].GetUserId())
		one.Filter = req.GetFilter()
		single := ts.ask(t, one)
		single.UnknownItemIds = nil // of the whole batch
		mustSame(t, single, r.GetResponse(), "in a batch (-single +batch)")
	}
	same(t, []string{"unknown"}, batch.GetUnknownItemIds(), "unknown ids")
	same(t, "main", ts.ask(t, forHistory(1, 2)).GetArm(), "a session has the arm")
	same(t, "", a.ask(t, forUser("u1")).GetArm(), "the arm without arms")
}

// askedStore is a store in memory that tells when a call reads a history.
type askedStore struct {
	*memory.Store
	read func()
}

func (s *askedStore) Since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (store.Version, bool, error) {
	if admission.Of(ctx) != nil {
		s.read()
	}
	return s.Store.Since(ctx, user, known, fn)
}

// A batch takes all lists of an arm from its model, with the boosts, though the arm is dropped while
// the first of them is made.
func TestDropInABatch(t *testing.T) {
	kept := memory.New()
	before := start(t, only(t, kept, 1))
	reply(t, before.items.BatchUpsertItems, upsert(&pb.Item{ItemId: item(3),
		Labels: []string{"own"}}))
	req := &pb.BatchRecommendRequest{PageSize: 5, Boosts: []*pb.Boost{{Name: "own", Weight: 9,
		Filter: &pb.ItemFilter{AnyLabels: []string{"own"}}}}}
	for _, user := range []string{"ann", "bob", "eve"} {
		before.observe(t, newEvent(user, 1))
		req.Subjects = append(req.Subjects, &pb.BatchSubject{
			Subject: &pb.BatchSubject_UserId{UserId: user}})
	}
	want := reply(t, start(t, withArm(t, kept, 100, nil)).recommend.BatchRecommend, req)
	first := want.GetResults()[0].GetResponse()
	if first.GetItems()[0].GetItemId() != item(3) || first.GetArm() != "b" {
		t.Fatalf("the list of %s, want one of b that begins with %s", first, item(3))
	}
	asked := &askedStore{Store: kept}
	ts := start(t, withArm(t, asked, 100, nil))
	asked.read = func() { ts.arms.Split.Drop(1, true) }
	got := reply(t, ts.recommend.BatchRecommend, req)
	same(t, "main", ts.ask(t, forUser("ann")).GetArm(), "the arm of ann afterwards")
	same(t, want, got, "the lists (-without the drop +with it)")
}

// ReloadModel loads the models of the arms too; one that is bad is named, and stays.
func TestReloadOfArms(t *testing.T) {
	seed, bad := uint64(5), false
	ts := start(t, setup{config: func(c *Config) {
		c.Arms = []Arm{{Name: "b", Share: 25, Open: func() (*model.Model, error) {
			if bad {
				return nil, fmt.Errorf("no such file")
			}
			return newModel(t, seed), nil
		}}}
	}})
	version := func() string {
		got := reply(t, ts.admin.ListModels, &pb.ListModelsRequest{})
		b := got.GetModels()[1]
		if len(got.GetModels()) != 2 || b.GetArm() != "b" || b.GetSharePercent() != 25 ||
			got.GetModels()[0].GetSharePercent() != 75 || b.GetCanary() != nil {
			t.Errorf("models %v", got)
		}
		return b.GetModel().GetVersion()
	}
	same(t, newModel(t, 5).Version(), version(), "b has the model")
	seed = 6
	reply(t, ts.admin.ReloadModel, &pb.ReloadModelRequest{})
	same(t, newModel(t, 6).Version(), version(), "after the reload b has the model")
	bad = true
	_, err := ts.admin.ReloadModel(ctx(t), &pb.ReloadModelRequest{})
	if p := problemOf(t, err); p.Code != codes.FailedPrecondition || p.Reason != "MODEL_REJECTED" ||
		!strings.Contains(err.Error(), "arm b") {
		t.Errorf("a bad model of an arm: %v", err)
	}
	check.Pass(t, ts.Reload(ctx(t)), "the model of the server cannot be loaded")
	same(t, newModel(t, 6).Version(), version(), "after a bad reload b has the model")
}

// awaitLog waits until the log says something.
func (ts *testServer) awaitLog(t *testing.T, text string) {
	t.Helper()
	eventually(t, "the log says "+text, func() bool {
		return strings.Contains(ts.logs.String(), text)
	})
}

// follow has users do what a model foresees, until the log says something. Live quality leaves
// events out that come faster than it may measure, so no number of them is enough by itself.
func (ts *testServer) follow(t *testing.T, m *model.Model, until string) {
	t.Helper()
	popular := m.Popular()
	deadline := time.Now().Add(2 * time.Minute)
	for n := 0; !strings.Contains(ts.logs.String(), until); n++ {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not say %q", until)
		}
		var events []*pb.Event
		for i := range 50 {
			events = append(events, newEvent(fmt.Sprint("u", n, "-", i), int(popular[i%3])))
		}
		reply(t, ts.events.BatchObserve, &pb.BatchObserveRequest{Events: events})
		time.Sleep(time.Millisecond) // not only this test has something to do
	}
}

// A canary with a worse model loses its users to main, by the count of events, and gets them back
// with another model. One with the same model keeps them.
func TestCanaryReturns(t *testing.T) {
	bad := true
	ts := start(t, setup{
		config: func(c *Config) {
			c.QualitySample, c.CanaryEvents = 1, 30
			c.Arms = []Arm{{Name: "b", Share: 50, Canary: true, Open: func() (*model.Model, error) {
				if bad { // it knows none of the items
					return newModelOf(t, 1, func(i int) string { return "x" + item(i) }), nil
				}
				return newModel(t, 1), nil
			}}}
		},
	})
	m := newModel(t, 1)
	ts.follow(t, m, "audit: canary is worse")
	got := reply(t, ts.admin.ListModels, &pb.ListModelsRequest{})
	b := got.GetModels()[1]
	if b.GetSharePercent() != 0 || b.GetConfiguredSharePercent() != 50 ||
		got.GetModels()[0].GetSharePercent() != 100 || !b.GetCanary().GetReturned() ||
		b.GetCanary().GetEventCount() < 30 || b.GetCanary().GetGain() >= b.GetCanary().GetMainGain() {
		t.Errorf("models %v", got)
	}
	for n := range 50 {
		check.MustSame(t, "main", ts.ask(t, forUser(fmt.Sprint("u", n))).GetArm(),
			"the arm of a user")
	}
	same(t, map[string]float64{"b": 1}, ts.counters(t, "gsimc_canary_returns_total"), "returns")
	reply(t, ts.admin.SetTraffic, give("b", 60.)) // does not make its model better
	b = reply(t, ts.admin.ListModels, &pb.ListModelsRequest{}).GetModels()[1]
	if b.GetSharePercent() != 0 || b.GetConfiguredSharePercent() != 60 ||
		!b.GetCanary().GetReturned() || b.GetCanary().GetEventCount() < 30 {
		t.Errorf("a returned canary with another share: %v", b)
	}
	reply(t, ts.admin.SetTraffic, give("b", 50.))
	must(t, ts.Reload(ctx(t))) // the same file
	same(t, 0.0, ts.arms.Split.Share(1), "percent of the users of the canary with the same model")
	bad = false
	must(t, ts.Reload(ctx(t)))
	ts.awaitLog(t, "audit: canary has another model")
	ts.follow(t, m, "canary is not worse")
	same(t, 50.0, ts.arms.Split.Share(1), "percent of the users of a canary as good as main")
}
