package train_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/must"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
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
	return must.Get(d.Partition(train.Split(users, 1)))(t)
}

func learned(t *testing.T, p *dataset.Partition) *model.Model {
	t.Helper()
	r := must.Get(train.Run(p, train.Config{Spec: train.Recommended(), Rank: 12, Seed: 1}))(t)
	return r.Model
}

// A training finds the trends of its newest events, and the file keeps them.
func TestTrainingChoosesTrends(t *testing.T) {
	m := learned(t, seasonal(t, true))
	spec := m.Spec().Trend
	if !(spec.Gain > 0) || spec.HalfLife < 1 || spec.Span < 60 {
		t.Errorf("with fashions the constants are %+v", spec)
	}
	file := filepath.Join(t.TempDir(), "model.gsimc")
	must.Succeed(t, m.WriteFile(file))
	again := must.Get(model.Open(file))(t)
	defer again.Close()
	if d := cmp.Diff(spec, again.Spec().Trend); d != "" || again.Version() != m.Version() {
		t.Errorf("version %s, in the file %s (-made +read):\n%s", m.Version(), again.Version(), d)
	}
}

// Where nothing is in fashion nothing is added, and without times nothing is counted.
func TestTrainingChoosesNoTrends(t *testing.T) {
	if spec := learned(t, seasonal(t, false)).Spec().Trend; spec.Gain != 0 {
		t.Errorf("without fashions the constants are %+v", spec)
	}
	p := seasonal(t, true)
	p.Train.Time, p.Validation.Time, p.Test.Time = nil, nil, nil
	must.Equal(t, trend.Spec{}, learned(t, p).Spec().Trend, "without times")
}
