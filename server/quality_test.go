package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// The buckets of gsimc_online_rank and the cutoffs of gsimc_online_recall.
var (
	rankBuckets   = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
	onlineCutoffs = []int{10, 50, 100}
)

// ranks is what the histogram of a model holds.
type ranks struct {
	Count   uint64
	Sum     float64
	Buckets map[float64]uint64 // cumulative, by upper bound
}

func (r *ranks) add(rank int) {
	r.Count++
	r.Sum += float64(rank)
	for _, bound := range rankBuckets {
		if r.Buckets == nil {
			r.Buckets = map[float64]uint64{}
		}
		if float64(rank) <= bound {
			r.Buckets[bound]++
		} else {
			r.Buckets[bound] += 0
		}
	}
}

// onlineRanks gathers gsimc_online_rank by model, and gsimc_online_recall by "model n".
func (s *Server) onlineRanks(t testing.TB) (map[string]ranks, map[string]float64) {
	t.Helper()
	families := check.Get(s.metrics.registry.Gather())(t)
	got, recall := map[string]ranks{}, map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "gsimc_online_rank":
				r := ranks{Count: m.GetHistogram().GetSampleCount(),
					Sum: m.GetHistogram().GetSampleSum(), Buckets: map[float64]uint64{}}
				for _, b := range m.GetHistogram().GetBucket() {
					r.Buckets[b.GetUpperBound()] = b.GetCumulativeCount()
				}
				got[m.GetLabel()[0].GetValue()] = r
			case "gsimc_online_recall":
				recall[m.GetLabel()[0].GetValue()+" "+
					m.GetLabel()[1].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return got, recall
}

// awaitRanks waits until count events were measured. It gathers once more then, as gathering
// reads one metric after the other: the recalls may be those of the moment before the last count.
func (s *Server) awaitRanks(t testing.TB, count uint64) (map[string]ranks, map[string]float64) {
	t.Helper()
	eventually(t, fmt.Sprint(count, " events are measured"), func() bool {
		got, _ := s.onlineRanks(t)
		return got["serving"].Count >= count &&
			(s.cfg.ShadowModel == nil || got["shadow"].Count >= count)
	})
	return s.onlineRanks(t)
}

// TestOnlineRank sends events of all kinds and, before each, asks for the whole list: the place of
// the item in the list is the rank that must be measured, for the shadow model too, which serves
// elsewhere the same events.
func TestOnlineRank(t *testing.T) {
	t.Parallel()
	for _, est := range []model.Estimator{model.EstimatorBGS, model.EstimatorGS} {
		weights := func(c *Config) {
			c.Estimator, c.EventWeights = est,
				map[string]float64{"impression": 0, "like": 2}
		}
		// The shadow does not know the last item.
		shadow := func() (*model.Model, error) {
			return newModelOf(t, 2, func(i int) string { return item(i + i/(testItems-1)) }), nil
		}
		ts := start(t,
			setup{config: func(c *Config) {
				weights(c)
				c.QualitySample, c.ShadowModel = 1, shadow
			}})
		other := start(t, setup{config: weights, open: shadow})

		rng := rand.New(rand.NewPCG(4, 4))
		want := map[string]*ranks{"serving": {}, "shadow": {}}
		hits := map[string]float64{}
		seen := map[string]bool{}
		notShown := []*pb.Item{ // on no list, and not foreseen
			{ItemId: item(0), Hidden: proto.Bool(true)}, // as attributes of users
			{ItemId: item(1), AvailableUntil: timestamppb.New(time.Unix(1, 0))},
			{ItemId: item(2), AvailableFrom: timestamppb.New(time.Now().Add(time.Hour))},
		}
		for _, i := range notShown {
			ts.put(t, i)
			other.put(t, i)
		}
		for n := range 400 {
			// the last three no model knows
			user, i := fmt.Sprint("u", rng.IntN(12)), rng.IntN(testItems+3)
			e := newEvent(user, i)
			e.EventType = []string{"view", "like", "impression"}[n%3]
			if n%7 == 0 {
				v := -1.0
				e.Value = &v
			}
			counts := !seen[user+item(i)] && n%7 != 0 && n%3 != 2 && i >= len(notShown)
			seen[user+item(i)] = true
			for name, s := range map[string]*testServer{"serving": ts, "shadow": other} {
				req := forUser(user)
				req.PageSize = testItems
				rank := testItems + 1
				if at := slices.Index(itemIDs(s.ask(t, req)), item(i)); at >= 0 {
					rank = at + 1
				}
				if counts {
					want[name].add(rank)
					for _, cut := range onlineCutoffs {
						if rank <= cut {
							hits[fmt.Sprint(name, " ", cut)]++
						}
					}
				}
				s.observe(t, e)
			}
		}
		got, recall := ts.awaitRanks(t, want["serving"].Count)
		same(t, map[string]ranks{"serving": *want["serving"],
			"shadow": *want["shadow"]}, got, "%v: ranks differ", est)
		if want["serving"].Sum == want["shadow"].Sum {
			t.Error("the two models give the same ranks, so the shadow may be the serving model")
		}
		for name, h := range hits {
			if got := recall[name]; math.Abs(got-h/float64(want["serving"].Count)) > 1e-12 {
				t.Errorf("%v: recall of %s is %v, want %v of %d", est, name, got, h,
					want["serving"].Count)
			}
		}
		same(t, 6, len(recall), "recalls")
	}
}

// TestOnlineRecallRestarts loads another model: from then on the recalls of both models are of the
// same, later events.
func TestOnlineRecallRestarts(t *testing.T) {
	var seed atomic.Uint64
	ts := start(t, setup{
		open: func() (*model.Model, error) { return newModel(t, seed.Add(1)), nil },
		config: func(c *Config) {
			c.QualitySample = 1
			c.ShadowModel = func() (*model.Model, error) { return newModel(t, 9), nil }
		},
	})
	for i := range 5 {
		ts.observe(t, newEvent("a", testItems+i)) // neither model knows it
	}
	if _, recall := ts.awaitRanks(t, 5); recall["serving 10"] != 0 || recall["shadow 10"] != 0 {
		t.Fatalf("recalls of unknown items: %v", recall)
	}
	must(t, ts.Reload(ctx(t)))
	popular := newModel(t, 2).Popular()[:10]
	both := slices.IndexFunc(popular,
		func(i int32) bool { return slices.Contains(newModel(t, 9).Popular()[:10], i) })
	ts.observe(t, newEvent("a", int(popular[both])))
	if _, recall := ts.awaitRanks(t, 6); recall["serving 10"] != 1 || recall["shadow 10"] != 1 {
		t.Errorf("recalls %v, want 1 of both models: those of the events since the reload", recall)
	}
}

// TestOnlineRankIsThatOfTheMoment measures an event when further ones have arrived: they must not
// count.
func TestOnlineRankIsThatOfTheMoment(t *testing.T) {
	hold := make(chan struct{})
	st := &hookedStore{Store: memory.New()}
	st.SinceFunc = func(ctx context.Context, user string, known store.Version,
		fn func(store.Version, store.Event) error) (store.Version, bool, error) {
		if user == "slow" && known.Revision == 0 {
			<-hold
		}
		return st.Store.Since(ctx, user, known, fn)
	}
	ts := start(t, setup{store: st, config: func(c *Config) { c.QualitySample = 1 }})
	m := newModel(t, 1)
	var want ranks
	for i, e := range []int{3, 4, 5, 20} {
		rank := slices.Index(itemIDs(ts.ask(t, func() *pb.RecommendRequest {
			req := forHistory(3, 4, 5, 20)
			if i == 0 {
				req = forUser("nobody")
			} else {
				req.GetHistory().Entries = req.GetHistory().GetEntries()[:i]
			}
			req.PageSize = testItems
			return req
		}())), m.ItemID(int32(e))) + 1
		want.add(rank)
		ts.observe(t, newEvent("slow", e))
	}
	close(hold)
	got, _ := ts.awaitRanks(t, 4)
	same(t, want, got["serving"], "ranks differ")
}

// TestOnlineRankDrops has samples that cannot be measured. Each is counted, and the worker goes on.
func TestOnlineRankDrops(t *testing.T) {
	st := &hookedStore{Store: memory.New()}
	st.SinceFunc = func(ctx context.Context, user string, known store.Version,
		fn func(store.Version, store.Event) error) (store.Version, bool, error) {
		switch user {
		case "broken":
			return store.Version{}, false, store.ErrCorrupt
		case "panic":
			panic("of the store")
		}
		return st.Store.Since(ctx, user, known, fn)
	}
	ts := start(t, setup{store: st, config: func(c *Config) { c.QualitySample = 1 }})
	for _, user := range []string{"broken", "panic", "good"} {
		ts.observe(t, newEvent(user, 1))
	}
	ts.awaitRanks(t, 1)
	// there is no such revision
	ts.quality.Offer("good", store.Version{Revision: 2, Mark: 1}, &store.Event{ID: "erased", Item: item(2)})
	// that one is of another life
	ts.quality.Offer("good", store.Version{Revision: 1, Mark: 1}, &store.Event{ID: "other", Item: item(1)})
	ts.observe(t, newEvent("good", 2))
	ts.awaitRanks(t, 2)
	_, page := ts.get(t, "/metrics")
	for _, want := range []string{
		`gsimc_online_dropped_total{reason="failed"} 2`,
		`gsimc_online_dropped_total{reason="erased"} 2`,
		`gsimc_online_dropped_total{reason="queue"} 0`, `gsimc_panics_total 1`,
		`gsimc_online_rank_count{model="serving"} 2`,
	} {
		check.Has(t, page, want, "the metrics")
	}
}

func TestQualityConfig(t *testing.T) {
	fail := errors.New("no such file")
	for _, c := range []struct {
		share  float64
		shadow func() (*model.Model, error)
		want   string
	}{
		{-0.1, nil, "QualitySample: -0.1, want a share from 0 to 1"},
		{1.1, nil, "QualitySample: 1.1"},
		{math.NaN(), nil, "QualitySample: NaN"},
		{0, func() (*model.Model, error) { return nil, fail }, "ShadowModel: no event is measured"},
		{1, func() (*model.Model, error) { return nil, fail }, "shadow model: no such file"},
	} {
		cfg := DefaultConfig()
		cfg.QualitySample, cfg.ShadowModel = c.share, c.shadow
		_, err := New(cfg, memory.New(), named(t, "paper"))
		check.Says(t, err, c.want, "share %v", c.share)
	}
}
