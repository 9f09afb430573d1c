package evaluate

import (
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/again"
)

// AllNext is how [Dynamics] foresees all visits from T on, those to items that the user had before
// among them. The history of a target are all events of its user before it, with their repeats. An
// event that follows one on the same item is no target. A user has up to [mostNext]: more than of
// new items, as repeats are more frequent in the end of a session than in the beginning.
type AllNext struct {
	Users   int `json:"users"`
	Targets int `json:"targets"`
	Repeats int `json:"repeats"` // targets that the user had before

	// The lists that a server makes, and, for comparison, those without the newest item.
	Excluded  NextMetric `json:"excluded"`
	Alone     NextMetric `json:"alone"`
	NotNewest NextMetric `json:"not_newest"`
	Again     NextMetric `json:"again"`

	// Change is by which part of itself the NDCG@10 of NotNewest changes with the term.
	Change    float64 `json:"change"`
	ChangeErr float64 `json:"change_stderr"`

	Spec again.Spec `json:"spec"` // of the term
}

// mostNext is the number of visits of a user that are targets.
const mostNext = 20

// NextMetric is the NDCG@10 of one kind of list over all targets, over repeats and over others.
type NextMetric struct {
	All     float64 `json:"all"`
	Repeats float64 `json:"repeats"`
	New     float64 `json:"new"`
}

// nextTarget is the last visit of a history, over the items of a model.
type nextTarget struct {
	history model.History
	user    int32
}

// own are the items of the user before the target.
func (t *nextTarget) own() (items []int32) {
	for _, e := range t.before() {
		items = append(items, e.Item)
	}
	return items
}

func (t *nextTarget) before() model.History { return t.history[:len(t.history)-1] }
func (t *nextTarget) last() model.Event     { return t.history[len(t.history)-1] }

// nextTargets returns the targets of users that have some.
func (x *ByTime) nextTargets() (all []nextTarget, users int) {
	d := x.final.events
	barred := ranking.SetOf(len(x.Final.Items), x.Final.Test.Hidden...)
	for u := range d.Users {
		var h model.History
		for _, r := range d.Whole(u) {
			if place := x.final.place[r.Item]; place >= 0 {
				h = append(h, model.Event{Item: place, Weight: r.Weight, Time: r.Time})
			}
		}
		before := len(all)
		for at, e := range h {
			if at > 0 && e.Time >= x.Begin && e.Item != h[at-1].Item &&
				!barred.Has(e.Item) && len(all)-before < mostNext {
				all = append(all, nextTarget{h[:at+1], int32(u)})
			}
		}
		if len(all) > before {
			users++
		}
	}
	return all, users
}

// someUsers leaves the targets of up to limit users, evenly spaced.
func someUsers(all []nextTarget, users, limit int) []nextTarget {
	if limit == 0 || users <= limit {
		return all
	}
	wanted, taken, number, last := all[:0], 0, -1, int32(-1)
	for _, t := range all {
		if t.user != last {
			number, last = number+1, t.user
			if taken < limit && number > taken*users/limit {
				taken++
			}
		}
		if taken < limit && number == taken*users/limit {
			wanted = append(wanted, t)
		}
	}
	return wanted
}

// runAgain ranks all visits by m. It is nil for data whose users come back to nothing.
func (x *ByTime) runAgain(m *model.Model, spec again.Spec) *AllNext {
	if len(x.final.events.Repeats) == 0 {
		return nil
	}
	targets, users := x.nextTargets()
	targets = someUsers(targets, users, x.limit)
	if users = min(users, len(targets)); x.limit > 0 {
		users = min(users, x.limit)
	}
	out := &AllNext{Users: users, Targets: len(targets), Spec: spec}
	kinds := []*NextMetric{&out.Excluded, &out.Alone, &out.NotNewest, &out.Again}
	ranks := make([][]int32, len(kinds))
	for k := range ranks {
		ranks[k] = make([]int32, len(targets))
	}
	parallel.TasksWith(len(targets), func() func(t int) {
		q, scores := m.NewQuery(), make([]float32, m.NumItems())
		return func(t int) {
			for k, r := range x.nextRanks(&targets[t], m, q, scores, spec) {
				ranks[k][t] = r
			}
		}
	})
	repeats := make([]bool, len(targets))
	for t := range targets {
		if repeats[t] = slices.Contains(targets[t].own(), targets[t].last().Item); repeats[t] {
			out.Repeats++
		}
	}
	for k := range kinds {
		*kinds[k] = nextMetric(ranks[k], repeats)
	}
	of := make([]int32, len(targets))
	for t := range targets {
		of[t] = targets[t].user
	}
	out.Change, out.ChangeErr, _ = changeByUser(10, ranks[2], ranks[3], of)
	return out
}

// nextRanks returns the places of a target on the four lists of AllNext, in their order; 0 if it is
// left out.
func (x *ByTime) nextRanks(
	t *nextTarget, m *model.Model, q *model.Query, scores []float32, spec again.Spec,
) (ranks [4]int32) {
	target, own, newest := t.last().Item, t.own(), t.before()[len(t.history)-2].Item
	LearnedDynamics().queryTo(q, m, t.before())
	m.ScoresTo(scores, q)
	hidden := slices.Clip(x.Final.Test.Hidden)
	ranks[1], ranks[2] = rank(scores, target, hidden), rank(scores, target, append(hidden, newest))
	if !slices.Contains(own, target) {
		ranks[0] = rank(scores, target, append(hidden, own...))
	}
	q.Boosts = spec.AddTo(q.Boosts, spec.Of(t.before(), t.last().Time))
	m.ScoresTo(scores, q)
	ranks[3] = rank(scores, target, hidden)
	return ranks
}

func nextMetric(ranks []int32, repeats []bool) (m NextMetric) {
	again := 0
	for t, r := range ranks {
		gain := 0.0
		if r > 0 {
			_, gain = gains(10, r)
		}
		if m.All += gain; repeats[t] {
			m.Repeats += gain
			again++
		} else {
			m.New += gain
		}
	}
	m.All /= float64(max(1, len(ranks)))
	m.Repeats /= float64(max(1, again))
	m.New /= float64(max(1, len(ranks)-again))
	return m
}
