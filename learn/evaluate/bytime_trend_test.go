package evaluate

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/trend"
)

// fashion are users who come one after the other and take eight items each, in the order of time.
// In each of six seasons, with fashions, three items are taken by three users in four.
func fashion(fashions bool) *dataset.Interactions {
	const users, items, taken, seasons = 600, 60, 8, 6
	rng := rand.New(rand.NewPCG(9, 9))
	d := &dataset.Interactions{Ptr: []int64{0}}
	for i := range items {
		d.Items = append(d.Items, fmt.Sprintf("i%02d", i))
	}
	for u := range users {
		d.Users = append(d.Users, fmt.Sprintf("u%03d", u))
		mine := rng.Perm(items)[:taken]
		for j := range 3 {
			in := 3*(u*seasons/users) + j
			if fashions && rng.IntN(4) > 0 && !slices.Contains(mine, in) {
				mine[2+2*j] = in
			}
		}
		for j, i := range mine {
			d.Item = append(d.Item, int32(i))
			d.Time = append(d.Time, int64(86_400*u+3600*j))
		}
		d.Ptr = append(d.Ptr, int64(len(d.Item)))
	}
	return d
}

// byTimeOf runs learned dynamics and trends, with constants chosen before.
func byTimeOf(
	t *testing.T, d *dataset.Interactions,
) (x *ByTime, plain, trending *Result) {
	t.Helper()
	x, results := cutOf(t, d, TimeSplit{Share: 0.1}, nil)
	if len(results) != 2 || results[1].Name != Trending {
		t.Fatalf("the results are %+v, want those of dynamics without and with trends", results)
	}
	return x, &results[0], &results[1]
}

// cutOf runs learned dynamics at a cut, with constants chosen before, and an older model.
func cutOf(
	t *testing.T, d *dataset.Interactions, o TimeSplit, old *Aged,
) (x *ByTime, results []Result) {
	t.Helper()
	x = check.Get(SplitByTime(d, o))(t)
	x.Old = old
	opt := func(p *dataset.Partition) Options {
		spec := train.Recommended()
		spec.TrainUsers = int64(p.Train.Len())
		basis := check.Get(train.Solve(p, train.Config{Spec: spec, Rank: 10}))(t)
		return Options{
			Methods: []Method{LearnedDynamics()},
			Learned: Ingredients{
				Basis: basis, Spec: spec,
				Candidates: fit.Candidates{Ranks: []int{10}, Ridges: []float64{1}},
			},
		}
	}
	methods := check.Get(x.Choose(opt(x.Choosing)))(t)
	final := opt(x.Final)
	final.Methods = methods
	results = check.Get(x.Run(final))(t)
	if x.targets.cold == nil || namesOf(methods) != Dynamics {
		t.Fatalf("no target is cold, or the methods are %s", namesOf(methods))
	}
	return x, results
}

func TestTrendsFindWhatIsInFashion(t *testing.T) {
	x, plain, trending := byTimeOf(t, fashion(true))
	if was, is := plain.Metrics[0].NDCG, trending.Metrics[0].NDCG; is < 1.2*was {
		t.Errorf("NDCG@10 is %v with trends and %v without, want more", is, was)
	}
	cuts := []Cut{x.Cut([]Result{*plain, *trending})}
	if change, stderr, ok := Change(cuts, Dynamics, Trending); !ok || change < 0.2 ||
		stderr <= 0 || stderr > change {
		t.Errorf("the change is %v ± %v (%v)", change, stderr, ok)
	}
	if trending.Chosen[ChosenGain] == 0 || trending.Chosen[ChosenHalfLife] == 0 {
		t.Errorf("the constants are %v", trending.Chosen)
	}
	checkForesight(t, x, trending)
}

// checkForesight checks that what happens in the span of a target is no part of the trends that
// foresee it.
func checkForesight(t *testing.T, x *ByTime, trending *Result) {
	t.Helper()
	spec := x.Fitted.trend
	shares := make([]int64, len(x.Final.Items))
	ratesBefore := func(s *stream, time int64) *trend.Rates {
		span := spec.SpanOf(time)
		var c trend.Counts
		for j, i := range s.events.Item {
			if at := spec.SpanOf(s.events.Time[j]); at < span && s.place[i] >= 0 {
				c.Add(at, s.place[i], 1)
			}
		}
		return c.RatesAfter(span, spec.HalfLife, len(shares))
	}
	for _, i := range x.Final.Train.Item {
		shares[i]++
	}
	for at, item := range x.targets.cold {
		rates := ratesBefore(&x.final, x.targets.coldTimes[at])
		got, want := trending.Ranks[x.Final.Test.Len()+at], rank(rates.Popular(shares), item, nil)
		check.Same(t, want, got, "cold target %d has rank", at)
	}
}

func TestTrendsAddNothingWithoutFashion(t *testing.T) {
	_, plain, trending := byTimeOf(t, fashion(false))
	check.Same(t, 0.0, trending.Chosen[ChosenGain], "the gain")
	warm := 0
	for warm < len(plain.Ranks) && plain.Ranks[warm] == trending.Ranks[warm] {
		warm++
	}
	if warm < len(plain.Ranks)/2 { // the cold targets come last
		t.Errorf("the ranks are %v, want those without trends, %v", trending.Ranks, plain.Ranks)
	}
}

// All processors have something to do, and the rates of many items are not in memory at once.
func TestChunksOfSpans(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, c := range []struct{ processors, spans, items, most, chunks int }{
		{1, 1000, 50, 32, 32},
		{2, 64, 50, 8, 8},
		{16, 100, 50, 1, 100},
		{4, 3, 50, 1, 3},
		{2, 64, 1 << 20, 4, 16},
		{2, 0, 50, 0, 0},
	} {
		runtime.GOMAXPROCS(c.processors)
		spans, most := make([]int64, c.spans), 0
		for j := range spans {
			spans[j] = int64(j)
		}
		chunks := chunksOf(spans, c.items)
		for _, chunk := range chunks {
			most = max(most, len(chunk))
		}
		check.Same(t, spans, append([]int64{}, slices.Concat(chunks...)...), "%+v: spans", c)
		if most != c.most || len(chunks) != c.chunks {
			t.Errorf("%+v: %d chunks of up to %d spans", c, len(chunks), most)
		}
	}
}
