package train

import (
	"errors"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/again"
	"github.com/gsimc/gsimc/model/trend"
)

// Live are the constants of what a server adds to the scores of a model: the trends of items, and
// the term of the items that a user comes back to.
type Live struct {
	Trend   trend.Spec
	Again   again.Spec
	Repeats float64 // share of the newest visits that are to an item that the user had before
}

const (
	// fewestRepeats is the share of repeats below which nothing is learned of them.
	fewestRepeats = 0.005

	mostVisits = 20 // of a user: repeats are more frequent later in a session
)

// FindLive chooses the constants for m, a model of the training users of p. A second model is
// learned from all training events but the newest, like m but with a smaller rank and without
// deviation. The constants are those by which the second model foresees the newest events best. For
// m they are in proportion to the spread of its scores. Without times, or without learned dynamics,
// the result is zero. progress may be nil.
func FindLive(p *dataset.Partition, m *model.Model, progress Progress) (live Live, err error) {
	x := newPast(&p.Train, len(p.Items))
	if x == nil || m.Spec().Dynamics.Kind != model.DynamicsLearned {
		return Live{}, nil
	}
	progress.of(StageTrends)
	early, err := x.learn(p, m)
	if errors.Is(err, dynamics.ErrNothingToPredict) { // the second items of users are all new
		return Live{}, nil
	}
	if err != nil {
		return Live{}, err
	}
	live.Again, live.Repeats = x.again(early) // first, as each choice holds a score of every item
	choices, times := x.choices(early)
	if len(choices) == 0 {
		return Live{}, nil
	}
	live.Trend = x.likeliest(choices, times, early.Degrees())
	if !live.Trend.None() || !live.Again.None() {
		then, now := spreadOf(choices), x.spreadNow(m)
		live.Trend.Gain = scaled(live.Trend.Gain, then, now)
		live.Again = live.Again.Scaled(now / then)
	}
	return live, nil
}

// again chooses the constants of the term by which m, a model of the past, foresees the newest
// visits best. share is that of the repeats among them.
func (x *past) again(m *model.Model) (best again.Spec, share float64) {
	if len(x.all.Repeats) == 0 {
		return best, 0
	}
	visits, share := x.visits()
	if share < fewestRepeats {
		return best, share
	}
	choices := make([]again.Choice, len(visits))
	parallel.TasksWith(len(visits), func() func(t int) {
		q := m.NewQuery()
		return func(t int) {
			h, scores := visits[t].history, make([]float32, m.NumItems())
			m.QueryTo(q, m.StateOf(h[:len(h)-1]), model.EstimatorBGS)
			m.ScoresTo(scores, q)
			choices[t] = again.NewChoice(scores, h, visits[t].user)
		}
	})
	return again.Choose(choices), share
}

// visit is the last event of a history, and not to the item of the event before it.
type visit struct {
	history model.History // over the items of the second model
	user    int32
}

// visits returns the first few of the newest visits of each user, evenly spaced over all users, and
// the share of repeats among them.
func (x *past) visits() (some []visit, share float64) {
	type target struct{ user, at int }
	var all []target
	repeats := 0
	for u := range x.all.Len() {
		if times := x.all.Times(u); len(times) == 0 {
			continue
		}
		h, taken, had := x.whole(u), 0, map[int32]bool{}
		for at, e := range h {
			if at > 0 && e.Time >= x.begin && e.Item != h[at-1].Item && taken < mostVisits {
				all = append(all, target{u, at})
				taken++
				if had[e.Item] {
					repeats++
				}
			}
			had[e.Item] = true
		}
	}
	limit := max(1, min(len(all), mostChoices, mostScores/x.items))
	for t := range min(limit, len(all)) {
		of := all[t*len(all)/limit]
		some = append(some, visit{x.whole(of.user)[:of.at+1], x.all.User[of.user]})
	}
	return some, float64(repeats) / float64(max(1, len(all)))
}

// whole is the whole history of the u-th user, with its repeats, of items that have a place.
func (x *past) whole(u int) (h model.History) {
	for _, r := range x.all.Whole(u) {
		if place := x.place[r.Item]; place >= 0 {
			h = append(h, model.Event{Item: place, Weight: r.Weight, Time: r.Time})
		}
	}
	return h
}
