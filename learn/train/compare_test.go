package train_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/learntest"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

func TestRecentUsers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := &dataset.Interactions{Ptr: []int64{0}}
	for u := range 200 { // user u was active last at time u, but every tenth has one event only
		d.Users = append(d.Users, fmt.Sprintf("user %03d", u))
		for j := range 3 {
			if u%10 == 0 && j > 0 {
				break
			}
			d.Item, d.Time = append(d.Item, int32(rng.IntN(9))), append(d.Time, int64(u-2+j))
		}
		d.Ptr = append(d.Ptr, int64(len(d.Item)))
	}
	got := train.RecentUsers(d, 0, 20)
	if len(got) != 20 || !slices.IsSorted(got) {
		t.Errorf("got %v, want 20 users in order", got)
	}
	for i, u := range got {
		if u < 200-4*20-9 || u%10 == 0 || i > 0 && u == got[i-1] {
			t.Errorf("user %d is not among the latest 80 with two events", u)
		}
	}
	if got[19]-got[0] < 40 {
		t.Errorf("got %v, want users from all of the latest 80", got)
	}
	check.Same(t, got, train.RecentUsers(d, 0, 20), "a second call")
	if all := train.RecentUsers(d, 0, 1000); len(all) != 180 {
		t.Errorf("%d users in all, want 180", len(all))
	}
	if late := train.RecentUsers(d, 190, 1000); len(late) != 9 || late[0] != 191 {
		t.Errorf("active after 190: %v, want 191 to 199", late)
	}
	d.Time = nil
	if got := train.RecentUsers(d, 0, 20); len(got) != 20 {
		t.Errorf("%d users without times, want 20", len(got))
	}
}

// TestCompare sets a model of the checkerboard against one of the same board with the colours mixed
// up: the first finds the items of the right colour. The list of users holds one whom neither knows
// anything of, one whose target neither knows, and one whose target only the good one knows.
func TestCompare(t *testing.T) {
	p := learntest.Checkerboard()
	build := func(p *dataset.Partition, items []string) *model.Model {
		named := *p
		named.Items = items
		return check.Get(train.Run(&named, train.Config{Spec: train.Paper(), Rank: 8}))(t).Model
	}
	good := build(p, p.Items)
	mixed := learntest.Checkerboard()
	for i, item := range mixed.Train.Item {
		mixed.Train.Item[i] = item / 2
		if (i/6)%2 == 1 {
			mixed.Train.Item[i] = 23 - item/2
		}
	}
	gone := slices.Clone(p.Items) // its last item has another id
	gone[23] += " of old"
	bad := build(mixed, gone)

	d := &dataset.Interactions{
		Items: append(slices.Clone(p.Items), "new", "unheard"), Ptr: []int64{0},
	}
	var targets train.Targets
	for u := range 60 {
		d.Users = append(d.Users, fmt.Sprint(u))
		for j := range 4 {
			d.Item = append(d.Item, int32((u%2+2*(j+u*5))%24))
		}
		d.Ptr = append(d.Ptr, int64(len(d.Item)))
		targets.Users, targets.Items = append(targets.Users, int32(u)),
			append(targets.Items, int32((u%2+2*(4+u*5))%24))
	}
	targets.Items[7], targets.Items[8] = 24, 23
	for j := d.Ptr[9]; j < d.Ptr[10]; j++ {
		d.Item[j] = 25
	}

	// The oracle: TopN over everything, by hand.
	hit := func(m *model.Model, k, n int) float64 {
		u, s := int(targets.Users[k]), m.NewState()
		seen := map[string]bool{}
		for _, i := range d.Of(u) {
			if at, known := m.ItemIndex(d.Items[i]); known {
				m.Fold(s, model.Event{Item: at, Weight: 1})
				seen[d.Items[i]] = true
			}
		}
		var list []string
		if len(seen) == 0 {
			for _, i := range m.Popular() {
				list = append(list, m.ItemID(i))
			}
		} else {
			q := m.NewQuery()
			m.QueryTo(q, s, model.EstimatorBGS)
			for _, x := range m.TopN(nil, q, m.NumItems(), nil) {
				list = append(list, m.ItemID(x.Item))
			}
		}
		list = slices.DeleteFunc(list, func(id string) bool {
			return seen[id] || targets.Hidden != nil && targets.Hidden(id)
		})
		if at := slices.Index(list, d.Items[targets.Items[k]]); at >= 0 && at < n {
			return 1
		}
		return 0
	}
	const n = 8
	want := func() train.Comparison {
		c := train.Comparison{OldVersion: bad.Version(), N: n}
		var olds, news, gains []float64
		for k, i := range targets.Items {
			_, before := bad.ItemIndex(d.Items[i])
			_, after := good.ItemIndex(d.Items[i])
			switch {
			case targets.Hidden != nil && targets.Hidden(d.Items[i]):
			case before && after:
				x, y := hit(bad, k, n), hit(good, k, n)
				olds, news, gains = append(olds, x), append(news, y), append(gains, y-x)
			default:
				c.LeftOut++
			}
		}
		c.Users = len(olds)
		c.Old, c.OldErr = meanOf(olds)
		c.New, c.NewErr = meanOf(news)
		c.Difference, c.DifferenceErr = meanOf(gains)
		return c
	}
	near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })
	targets.Hidden = func(id string) bool { return slices.Contains(p.Items[:4], id) }
	got := train.Compare(bad, good, model.EstimatorBGS, d, targets, n)
	check.SameBy(t, near, want(), got, "comparison without hidden items")
	if got.Users > 50 {
		t.Errorf("%d targets, want at most 50 without hidden items", got.Users)
	}
	targets.Hidden = nil
	got = train.Compare(bad, good, model.EstimatorBGS, d, targets, n)
	check.SameBy(t, near, want(), got, "comparison")
	if got.Users < 50 || got.Users > 58 {
		t.Fatalf("%d of the 60 targets are known to both, want all but a few", got.Users)
	}
	if got.Worse || got.Difference < 0.2 {
		t.Errorf("the model of the right board gets %v more recall, want a lot", got.Difference)
	}
	back := train.Compare(good, bad, model.EstimatorBGS, d, targets, n)
	if !back.Worse || math.Abs(back.Difference+got.Difference) > 1e-12 {
		t.Errorf("the other way round the difference is %v", back.Difference)
	}
	if same := train.Compare(good, good, model.EstimatorBGS, d, targets, n); same.Worse ||
		same.Difference != 0 || same.DifferenceErr != 0 {
		t.Errorf("a model and itself: %+v", same)
	}
	targets.Users, targets.Items = targets.Users[7:9], targets.Items[7:9]
	none := train.Compare(bad, good, model.EstimatorBGS, d, targets, n)
	if diff := cmp.Diff(train.Comparison{OldVersion: bad.Version(), LeftOut: 2, N: n},
		none); diff != "" || none.Worse {
		t.Errorf("without a target that both know (-want +got):\n%s", diff)
	}
}

// meanOf returns the mean and its standard error.
func meanOf(x []float64) (mean, stderr float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		stderr += (v - mean) * (v - mean) / n
	}
	return mean, math.Sqrt(stderr / (n - 1))
}

// TestTooFew tells errors about too few events from faults.
func TestTooFew(t *testing.T) {
	nothing := dynamics.Predictable(slices.Values(make([]kalman.History, 7)))
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("state: %w: 0 events", dataset.ErrNoData), "state: no interactions: 0 events"},
		{nothing, "Histories: there is nothing to predict: no user of 7 has two items, " +
			"want users with two items or more"}, // without the advice
		{&train.TooFewError{Users: 5, Of: 20, Want: 30}, "5 of the 20 users can be held out"},
	} {
		if few := train.TooFew(c.err); few == nil || !strings.HasPrefix(few.Error(), c.want) ||
			strings.Contains(few.Error(), "Preset") {
			t.Errorf("%v: got %v, want %q", c.err, few, c.want)
		}
	}
	if few := train.TooFew(errors.New("no room")); few != nil {
		t.Errorf("a fault: %v", few)
	}
}
