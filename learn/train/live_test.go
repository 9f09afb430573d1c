package train_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/learntest"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
)

func trainingOf(t *testing.T, d *dataset.Interactions) *train.Result {
	t.Helper()
	return trainOn(t, check.Get(d.Partition(train.Split(d.NumUsers(), 1)))(t), 12)
}

// A training finds how users come back to items, and the file keeps it.
func TestTrainingChoosesRepeats(t *testing.T) {
	r := trainingOf(t, learntest.Returning(t, 0.5, 1))
	spec := r.Model.Spec().Again
	if spec.None() || spec.Constant+spec.Recency <= 0 || r.Live.Repeats < 0.2 {
		t.Errorf("with %.2f repeats the constants are %s", r.Live.Repeats, spec)
	}
	wantLiveKept(t, r.Model)
}

// Repeats change nothing but their own constants. Where users come back to nothing, or to few
// items, there are none.
func TestTrainingWithoutRepeats(t *testing.T) {
	often := learntest.Returning(t, 0.5, 1)
	with := trainingOf(t, often)
	often.Repeats = nil
	without := trainingOf(t, often)
	spec := without.Model.Spec()
	if !spec.Again.None() || without.Live.Repeats != 0 {
		t.Errorf("without repeats the constants are %s", spec.Again)
	}
	spec.Again = with.Model.Spec().Again
	check.Must(t, without.Model.SetLive(spec.Trend, spec.Again))
	if got, want := without.Model.Version(), with.Model.Version(); got != want {
		t.Errorf("the rest of the model is %s, with repeats %s", got, want)
	}
	seldom := learntest.Returning(t, 0, 1)
	last := seldom.Ptr[seldom.NumUsers()] - 1
	seldom.Repeats = dataset.Repeats{{Time: seldom.Time[last], User: int32(seldom.NumUsers() - 1),
		Place: 12, Item: seldom.Item[last-3], Weight: 1}}
	if got := trainingOf(t, seldom).Model.Spec().Again; !got.None() {
		t.Errorf("a single repeat gives the constants %s", got)
	}
}

// Where users have had one item each but for the newest events, the past has nothing to learn from.
// The model has no trends then.
func TestTrainingOfNewSecondItems(t *testing.T) {
	d := &dataset.Interactions{Ptr: []int64{0}}
	for i := range 10 {
		d.Items = append(d.Items, fmt.Sprint("i", i))
	}
	for u := range 400 {
		d.Users = append(d.Users, fmt.Sprintf("u%03d", u))
		d.Item, d.Time = append(d.Item, int32(u%10)), append(d.Time, int64(u))
		if u%10 == 0 {
			d.Item, d.Time = append(d.Item, int32(u/10%9)+1), append(d.Time, int64(10_000+u))
		}
		d.Ptr = append(d.Ptr, int64(len(d.Item)))
	}
	r := trainOn(t, check.Get(d.Partition(train.Split(d.NumUsers(), 1)))(t), 4)
	if spec := r.Model.Spec(); spec.Trend.Gain != 0 || !spec.Again.None() {
		t.Errorf("the constants are %+v and %s", spec.Trend, spec.Again)
	}
}

// Constants that are no numbers are refused by the name of the field.
func TestSetLiveRefuses(t *testing.T) {
	r := trainingOf(t, learntest.Returning(t, 0, 1))
	spec := r.Model.Spec()
	spec.Again.Newest = 1
	err := r.Model.SetLive(spec.Trend, spec.Again)
	if f := (*fault.Fault)(nil); !errors.As(err, &f) || f.Field != "Decay" {
		t.Errorf("constants without a decay: %v", err)
	}
}
