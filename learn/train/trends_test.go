package train_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model/trend"
)

// seasonal are users who come one after the other and take six of 60 items each. With fashions,
// three users in four take two items of the season first.
func seasonal(t *testing.T, fashions bool) *dataset.Partition {
	t.Helper()
	const users, items, seasons = 600, 60, 10
	rng := rand.New(rand.NewPCG(1, 2))
	d := &dataset.Interactions{Ptr: []int64{0}}
	for i := range items {
		d.Items = append(d.Items, fmt.Sprintf("i%02d", i))
	}
	for u := range users {
		d.Users = append(d.Users, fmt.Sprintf("u%03d", u))
		mine := rng.Perm(items)
		if in := 2 * (u * seasons / users); fashions && rng.IntN(4) > 0 {
			mine[1], mine[3] = in, in+1
		}
		seen := map[int]bool{}
		for j, i := range mine[:6] {
			if !seen[i] {
				d.Item = append(d.Item, int32(i))
				d.Time = append(d.Time, int64(86_400*u+3600*j))
			}
			seen[i] = true
		}
		d.Ptr = append(d.Ptr, int64(len(d.Item)))
	}
	return check.Get(d.Partition(train.Split(users, 1)))(t)
}

// A training finds the trends of its newest events, and the file keeps them.
func TestTrainingChoosesTrends(t *testing.T) {
	m := trainOn(t, seasonal(t, true), 12).Model
	spec := m.Spec().Trend
	if !(spec.Gain > 0) || spec.HalfLife < 1 || spec.Span < 60 {
		t.Errorf("with fashions the constants are %+v", spec)
	}
	wantLiveKept(t, m)
}

// Where nothing is in fashion nothing is added, and without times nothing is counted.
func TestTrainingChoosesNoTrends(t *testing.T) {
	if spec := trainOn(t, seasonal(t, false), 12).Model.Spec().Trend; spec.Gain != 0 {
		t.Errorf("without fashions the constants are %+v", spec)
	}
	p := seasonal(t, true)
	p.Train.Time, p.Validation.Time, p.Test.Time = nil, nil, nil
	check.Same(t, trend.Spec{}, trainOn(t, p, 12).Model.Spec().Trend, "without times")
}

// The plan has the stage in which trends are chosen if there is one.
func TestPlanOfTrends(t *testing.T) {
	for _, timed := range []bool{true, false} {
		p := seasonal(t, true)
		if !timed {
			p.Train.Time, p.Validation.Time, p.Test.Time = nil, nil, nil
		}
		told := false
		cfg := train.Config{Spec: train.Recommended(), Rank: 12, Seed: 1,
			Progress: func(stage string, _, _ int) { told = told || stage == train.StageTrends }}
		check.Get(train.Run(p, cfg))(t)
		planned := slices.ContainsFunc(train.NewPlan(p, cfg).Announced(), func(s train.Stage) bool {
			return s.Name == train.StageTrends && s.Seconds > 0
		})
		if told != timed || planned != timed {
			t.Errorf("times: %v, trends are chosen: %v, are planned: %v", timed, told, planned)
		}
	}
}

// The plan has the memory of the events, the scores and, on each processor, the rates.
func TestPlanOfTrendsOfManyItems(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const items, targets = 1 << 16, 1000 // whose spans are in 32 parts
	p := seasonal(t, true)
	p.Items = make([]string, items)
	for processors, workers := range map[int]int{1: 1, 5: 5, 40: 32} {
		runtime.GOMAXPROCS(processors)
		stages := train.NewPlan(p, train.Config{Spec: train.Recommended(), Rank: 12}).Stages
		at := slices.IndexFunc(stages, func(s train.Stage) bool { return s.Name == "trends" })
		want := 24*len(p.Train.Time) + 8*targets*items + workers*trend.RatesBytes(items)
		check.Same(t, float64(want), stages[at].Peak, "on %d processors", processors)
	}
}
