package train_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/must"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// returning are users who come one after the other and make twelve visits each, to one of four
// shelves of 50 items. A share of the visits is to an item that the user had, one of the newest above
// all.
func returning(t *testing.T, share float64) *dataset.Interactions {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	b := must.Get(dataset.NewBuilder("test", dataset.Options{}))(t)
	for u := range 400 {
		mine, shelf := rng.Perm(50), 50*rng.IntN(4)
		var h []int
		for j := range 12 {
			i := shelf + mine[j]
			if j > 1 && rng.Float64() < share {
				i = h[max(0, len(h)-2-min(rng.IntN(6), rng.IntN(6)))]
			}
			h = append(h, i)
			err := b.Add(fmt.Sprintf("u%03d", u), fmt.Sprintf("i%03d", i),
				int64(86_400*u+3600*j), 1)
			must.Succeed(t, err)
		}
	}
	d, _, err := b.Interactions()
	must.Succeed(t, err)
	return d
}

func trainingOf(t *testing.T, d *dataset.Interactions) *train.Result {
	t.Helper()
	p := must.Get(d.Partition(train.Split(d.NumUsers(), 1)))(t)
	return must.Get(train.Run(p, train.Config{Spec: train.Recommended(), Rank: 12, Seed: 1}))(t)
}

// A training finds how users come back to items, and the file keeps it.
func TestTrainingChoosesRepeats(t *testing.T) {
	r := trainingOf(t, returning(t, 0.5))
	spec := r.Model.Spec().Again
	if spec.None() || spec.Constant+spec.Recency <= 0 || r.Live.Repeats < 0.2 {
		t.Errorf("with %.2f repeats the constants are %s", r.Live.Repeats, spec)
	}
	file := filepath.Join(t.TempDir(), "model.gsimc")
	must.Succeed(t, r.Model.WriteFile(file))
	read := must.Get(model.Open(file))(t)
	defer read.Close()
	if d := cmp.Diff(spec, read.Spec().Again); d != "" || read.Version() != r.Model.Version() {
		t.Errorf("version %s, in the file %s (-made +read):\n%s", r.Model.Version(),
			read.Version(), d)
	}
}

// Repeats change nothing but their own constants. Where users come back to nothing, or to few
// items, there are none.
func TestTrainingWithoutRepeats(t *testing.T) {
	often := returning(t, 0.5)
	with := trainingOf(t, often)
	often.Repeats = nil
	without := trainingOf(t, often)
	spec := without.Model.Spec()
	if !spec.Again.None() || without.Live.Repeats != 0 {
		t.Errorf("without repeats the constants are %s", spec.Again)
	}
	spec.Again = with.Model.Spec().Again
	must.Succeed(t, without.Model.SetLive(spec.Trend, spec.Again))
	if got, want := without.Model.Version(), with.Model.Version(); got != want {
		t.Errorf("the rest of the model is %s, with repeats %s", got, want)
	}
	seldom := returning(t, 0)
	last := seldom.Ptr[seldom.NumUsers()] - 1
	seldom.Repeats = dataset.Repeats{{Time: seldom.Time[last], User: int32(seldom.NumUsers() - 1),
		Place: 12, Item: seldom.Item[last-3], Weight: 1}}
	if got := trainingOf(t, seldom).Model.Spec().Again; !got.None() {
		t.Errorf("a single repeat gives the constants %s", got)
	}
}

// Constants that are no numbers are refused by the name of the field.
func TestSetLiveRefuses(t *testing.T) {
	r := trainingOf(t, returning(t, 0))
	spec := r.Model.Spec()
	spec.Again.Newest = 1
	err := r.Model.SetLive(spec.Trend, spec.Again)
	if f := (*fault.Fault)(nil); !errors.As(err, &f) || f.Field != "Decay" {
		t.Errorf("constants without a decay: %v", err)
	}
}
