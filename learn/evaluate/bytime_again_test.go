package evaluate

import (
	"math"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/learntest"
	"github.com/gsimc/gsimc/model"
)

// All next visits are foreseen better with the term, the figures are those of the ranks, and the
// other figures are those of data without repeats.
func TestAllNext(t *testing.T) {
	d := learntest.Returning(t, 0.5, 0)
	x, plain, _ := byTimeOf(t, d)
	a := x.AllNext
	if a == nil || a.Spec.None() {
		t.Fatalf("all next visits are %+v, want a term for repeats", a)
	}
	if a.Repeats < a.Targets/4 || a.Repeats > a.Targets/2 || a.Users != x.Users {
		t.Errorf("%d repeats of %d targets of %d users, with others %d", a.Repeats, a.Targets,
			a.Users, x.Users)
	}
	if a.Excluded.Repeats != 0 || a.Again.Repeats < 1.3*a.NotNewest.Repeats ||
		a.Change < 0.2 || a.ChangeErr <= 0 || a.ChangeErr > a.Change {
		t.Errorf("%s: excluded %v, alone %v, not newest %v, again %v: %v ± %v", a.Spec,
			a.Excluded, a.Alone, a.NotNewest, a.Again, a.Change, a.ChangeErr)
	}
	share := float64(a.Repeats) / float64(a.Targets)
	for _, m := range []NextMetric{a.Excluded, a.Alone, a.NotNewest, a.Again} {
		if all := share*m.Repeats + (1-share)*m.New; math.Abs(all-m.All) > 1e-12 {
			t.Errorf("%v of repeats and %v of new items are %v, want %v", m.Repeats, m.New, m.All, all)
		}
	}
	d.Repeats = nil
	y, same, _ := byTimeOf(t, d)
	if y.AllNext != nil || !slices.Equal(same.Ranks, plain.Ranks) {
		t.Errorf("without repeats there are %+v, and the ranks of first places change", y.AllNext)
	}
}

// The targets of a user are visits, each with all events before it.
func TestNextTargets(t *testing.T) {
	d := learntest.Returning(t, 0.5, 0)
	x := check.Get(SplitByTime(d, TimeSplit{Share: 0.1, Users: 7}))(t)
	all, users := x.nextTargets()
	byUser := map[int32]int{}
	for _, target := range all {
		h := target.history
		last, before := h[len(h)-1], h[len(h)-2]
		if last.Item == before.Item || last.Time < x.Begin {
			t.Errorf("the target %v after %v is no visit after %d", last, before, x.Begin)
		}
		whole := d.Whole(int(target.user))
		var want model.History
		for _, r := range whole[:len(h)] { // each item has a place
			want = append(want, model.Event{Item: x.final.place[r.Item], Weight: 1, Time: r.Time})
		}
		check.Same(t, want, h, "the history")
		byUser[target.user]++
	}
	check.Same(t, users, len(byUser), "users")
	for limit := range users + 3 {
		taken := map[int32]int{}
		for _, target := range someUsers(slices.Clone(all), users, limit) {
			taken[target.user]++
		}
		want := min(limit, users)
		if limit == 0 {
			want = users
		}
		check.Same(t, want, len(taken), "taken users of %d", users)
		for u, n := range taken {
			check.Same(t, byUser[u], n, "targets of user %d", u)
		}
	}
}
