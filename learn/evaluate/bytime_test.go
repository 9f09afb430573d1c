package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// timedEvents are random interactions in the layout of package dataset: every user has an item at
// most once, in the order of time.
func timedEvents(rng *rand.Rand, users, items int) *dataset.Interactions {
	d := &dataset.Interactions{Ptr: []int64{0}}
	for i := range items {
		d.Items = append(d.Items, fmt.Sprintf("i%04d", i))
	}
	for u := range users {
		d.Users = append(d.Users, fmt.Sprintf("u%04d", u))
		at := rng.Int64N(200)
		for _, i := range rng.Perm(items)[:1+rng.IntN(min(items, 30))] {
			d.Item, d.Time = append(d.Item, int32(i)), append(d.Time, at)
			d.Weight = append(d.Weight, rng.Float32())
			at += rng.Int64N(5)
		}
		d.Ptr = append(d.Ptr, int64(len(d.Item)))
	}
	return d
}

// describe writes histories with the ids of users and items.
func describe(d *dataset.Interactions, p *dataset.Partition, h *dataset.Histories) (out []string) {
	for u := range h.Len() {
		var b strings.Builder
		b.WriteString(d.Users[h.User[u]])
		for j, i := range h.Of(u) {
			fmt.Fprintf(&b, " %s@%d*%v", p.Items[i], h.Times(u)[j], h.Weights(u)[j])
		}
		out = append(out, b.String())
	}
	return out
}

// oracleByTime writes the targets in [from, to) by the definition, with their histories. Items are
// known that have an event before learned. Those that hidden, if set, tells are no targets.
func oracleByTime(
	d *dataset.Interactions, hidden func(id string) bool, learned, from, to int64,
) (warm, cold []string, unknown int) {
	known := map[int32]bool{}
	for j, i := range d.Item {
		if d.Time[j] < learned {
			known[i] = true
		}
	}
	for u, id := range d.Users {
		past, targets := id, 0
		for j := d.Ptr[u]; j < d.Ptr[u+1]; j++ {
			if d.Time[j] >= to {
				break
			}
			inside := d.Time[j] >= from
			if !known[d.Item[j]] {
				if inside {
					unknown++
				}
				continue
			}
			event := fmt.Sprintf(" %s@%d*%v", d.Items[d.Item[j]], d.Time[j], d.Weight[j])
			if inside && targets < 10 && (hidden == nil || !hidden(d.Items[d.Item[j]])) {
				targets++
				if past == id {
					cold = append(cold, d.Items[d.Item[j]])
				} else {
					warm = append(warm, past+event)
				}
			}
			past += event
		}
	}
	return warm, cold, unknown
}

func TestSplitByTime(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		d := timedEvents(rng, 20+rng.IntN(60), 20+rng.IntN(60))
		o := TimeSplit{Later: int(seed % 4)}
		o.Share = (0.1 + 0.3*rng.Float64()) / float64(1+o.Later)
		if seed%2 == 1 {
			o.Hidden = func(id string) bool { return id[4] == '3' }
		}
		x := check.Get(SplitByTime(d, o))(t)
		checkCut(t, d, x, o)
		warm, cold, unknown := oracleByTime(d, o.Hidden, x.Begin, x.Begin, x.End)
		check.MustSame(t, warm, describe(d, x.Final, &x.Final.Test), "seed %d: test histories",
			seed)
		var gotCold []string
		for _, i := range x.targets.cold {
			gotCold = append(gotCold, x.Final.Items[i])
		}
		check.MustSame(t, cold, gotCold, "seed %d: cold targets", seed)
		if x.Unknown != unknown || x.Targets != len(warm)+len(cold) || x.Cold != len(cold) {
			t.Errorf("seed %d: %d unknown, %d targets, %d cold; want %d, %d, %d", seed, x.Unknown,
				x.Targets, x.Cold, unknown, len(warm)+len(cold), len(cold))
		}
		checkTraining(t, d, x.Final, x.Begin)
		if x.Choosing == nil {
			continue
		}
		checkTraining(t, d, x.Choosing, x.Validation)
		warm, _, _ = oracleByTime(d, o.Hidden, x.Validation, x.Validation, x.Begin)
		check.MustSame(t, warm, describe(d, x.Choosing, &x.Choosing.Validation),
			"seed %d: validation histories", seed)
		for _, h := range []*dataset.Histories{&x.Final.Validation, &x.Final.Test} {
			hidden := o.Hidden != nil && slices.ContainsFunc(x.Final.Items, o.Hidden)
			check.Same(t, hidden, len(h.Hidden) > 0, "seed %d: some are known to be hidden", seed)
			for u := range h.Len() {
				_, target := split(h, u)
				check.Same(t, false, slices.Contains(h.Hidden, target), "seed %d: a hidden target", seed)
			}
		}
	}
}

// checkCut checks that the later cuts and x have the share of events each, and those of equal times.
func checkCut(t *testing.T, d *dataset.Interactions, x *ByTime, o TimeSplit) {
	t.Helper()
	times := slices.Sorted(slices.Values(d.Time))
	left, share, end := len(times), int(o.Share*float64(len(times))), int64(math.MaxInt64)
	for range o.Later {
		end = times[left-share]
		left = slices.Index(times, end)
	}
	begin := times[left-share]
	if x.End != end || x.Begin != begin || x.Events != left-slices.Index(times, begin) {
		t.Fatalf("%+v: %d events from %d to %d, want %d from %d to %d", o, x.Events, x.Begin, x.End,
			left-slices.Index(times, begin), begin, end)
	}
}

// checkTraining checks that p has all training events before begin, and their items.
func checkTraining(t *testing.T, d *dataset.Interactions, p *dataset.Partition, begin int64) {
	t.Helper()
	var want []string
	items := map[string]bool{}
	for u, id := range d.Users {
		text := id
		for j := d.Ptr[u]; j < d.Ptr[u+1] && d.Time[j] < begin; j++ {
			items[d.Items[d.Item[j]]] = true
			text += fmt.Sprintf(" %s@%d*%v", d.Items[d.Item[j]], d.Time[j], d.Weight[j])
		}
		if text != id {
			want = append(want, text)
		}
	}
	check.MustSame(t, want, describe(d, p, &p.Train), "training histories")
	if len(items) != len(p.Items) || !slices.IsSorted(p.Items) {
		t.Fatalf("%d items, want %d in order", len(p.Items), len(items))
	}
}

func TestSplitByTimeLimitsUsers(t *testing.T) {
	d := timedEvents(rand.New(rand.NewPCG(1, 1)), 80, 40)
	all := check.Get(SplitByTime(d, TimeSplit{Share: 0.3}))(t)
	some := check.Get(SplitByTime(d, TimeSplit{Share: 0.3, Users: 5}))(t)
	tested := func(x *ByTime) int {
		return len(slices.Compact(slices.Sorted(slices.Values(x.targets.users))))
	}
	if all.Users <= 5 || tested(all) != all.Users || some.Users != 5 || tested(some) != 5 {
		t.Errorf("%d users (%d with targets) of %d (%d), want 5", some.Users, tested(some),
			all.Users, tested(all))
	}
	for _, text := range describe(d, some.Final, &some.Final.Test) {
		if !slices.Contains(describe(d, all.Final, &all.Final.Test), text) {
			t.Errorf("history %s is not one of all users", text)
		}
	}
}

func TestSplitByTimeRefuses(t *testing.T) {
	good := timedEvents(rand.New(rand.NewPCG(1, 1)), 20, 20)
	untimed, still := *good, *good
	untimed.Time, still.Time = nil, make([]int64, len(good.Time))
	fresh := &dataset.Interactions{
		Users: []string{"a"}, Items: []string{"x", "y", "z"}, Ptr: []int64{0, 3},
		Item: []int32{0, 1, 2}, Time: []int64{1, 2, 3},
	}
	for _, c := range []struct {
		d     *dataset.Interactions
		share float64
		want  string
	}{
		{&untimed, 0.1, "no times"},
		{&still, 0.1, "an earlier time"},
		{good, 1e-9, "TestShare: 1e-09, want a share of"},
		{fresh, 0.4, "whose items also have earlier ones"},
	} {
		check.Says(t, check.Err(SplitByTime(c.d, TimeSplit{Share: c.share})), c.want, "SplitByTime")
	}
}

// A method with the constants that it chose before must give the same result as one that chooses.
func TestChooseIsWhatRunChooses(t *testing.T) {
	p := randomPartition(7, 160, 40)
	methods := []Method{popularity{}, vsknn{}, markov{}, ease{}, ease{forgets: true}}
	check.Same(t, "vsknn; markov; ease; ease-forgetting", namesOf(Choosers(methods)),
		"methods that choose")
	want := check.Get(Run(p, Options{Methods: methods}))(t)
	chosen := check.Get(Choose(p, Options{Methods: methods}))(t)
	blind := *p
	blind.Validation = dataset.Histories{Ptr: []int64{0}}
	got := check.Get(Run(&blind, Options{Methods: chosen}))(t)
	check.Same(t, want, got, "results")
	for _, m := range methods[1:] {
		opt := Options{Methods: []Method{m}}
		_, err := Run(&blind, opt)
		if want := m.Name() + ": chooses "; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("nothing to choose on: error %v, want %q", err, want)
		}
		if _, err := Choose(&blind, opt); err == nil {
			t.Errorf("%s: nothing to choose on, and no error", m.Name())
		}
	}
}

// A model with a given rank, ridge and local term ranks like the model that chose these constants.
// The items follow each other in a ring.
func TestLearnedDynamicsAreGivenWhatTheyChose(t *testing.T) {
	const items, users = 80, 400
	ring := func(users int) dataset.Histories {
		h := dataset.Histories{Ptr: []int64{0}}
		for u := range users {
			h.User = append(h.User, int32(u))
			for j := range 8 {
				h.Item = append(h.Item, int32((u*7+j*(1+u%2))%items))
			}
			h.Ptr = append(h.Ptr, int64(len(h.Item)))
		}
		return h
	}
	p := &dataset.Partition{Train: ring(users), Validation: ring(users / 4), Test: ring(users / 5)}
	for i := range items {
		p.Items = append(p.Items, fmt.Sprintf("%03d", i))
	}
	spec := train.Recommended()
	spec.TrainUsers = users
	basis := check.Get(train.Solve(p, train.Config{Spec: spec, Rank: 40}))(t)
	opt := Options{
		Methods: []Method{LearnedDynamics(), Filtered(GS, spectral.RandomWalk)},
		Learned: Ingredients{
			Basis: basis, Spec: spec,
			Candidates: fit.Candidates{Ranks: []int{10, 20}, Ridges: []float64{0.1, 1}},
		},
	}
	check.Same(t, Dynamics, namesOf(Choosers(opt.Methods)), "methods that choose")
	chosen := check.Get(Choose(p, opt))(t)
	opt.Methods = opt.Methods[:1]
	want := check.Get(Run(p, opt))(t)
	if want[0].Chosen[ChosenRank] == 0 {
		t.Fatal("nothing was chosen")
	}
	opt.Methods = chosen[:1]
	got := check.Get(Run(p, opt))(t)
	check.Same(t, want[0].Ranks, got[0].Ranks, "ranks")
	check.Same(t, want[0].Chosen, got[0].Chosen, "constants")
}

// The error of targets of different users is the usual one. Copies of a user's target change
// neither the mean nor the error.
func TestMetricByUser(t *testing.T) {
	ranks, users := []int32{1, 30, 4, 200, 9, 11, 2}, []int32{3, 1, 4, 0, 5, 9, 2}
	var rankCopies, userCopies []int32
	for range 3 {
		rankCopies, userCopies = append(rankCopies, ranks...), append(userCopies, users...)
	}
	for _, n := range Cutoffs {
		want := MetricAt(n, ranks)
		for _, got := range []Metric{
			metricByUser(n, ranks, users), metricByUser(n, rankCopies, userCopies),
		} {
			for name, d := range map[string]float64{
				"HR": got.HR - want.HR, "HRErr": got.HRErr - want.HRErr,
				"NDCG": got.NDCG - want.NDCG, "NDCGErr": got.NDCGErr - want.NDCGErr,
			} {
				if math.Abs(d) > 1e-12 {
					t.Errorf("%s@%d differs by %v", name, n, d)
				}
			}
		}
	}
	check.Same(t, 0.0, metricByUser(10, []int32{1, 2}, []int32{7, 7}).HRErr, "error of one user")
}
