package train

import (
	"maps"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/trend"
)

// The choice of trends.
const (
	// trendShare is the share of the training events, the newest, that trends are chosen on.
	trendShare = 0.1

	// trendRank is the largest rank of the model that is learned from the other events.
	trendRank = 128

	mostLearned = 1 << 21 // events that it is learned from, of all users or of a part of them
	mostPerUser = 10      // targets of a user
	mostChoices = 1000    // targets
	mostScores  = 1 << 26 // scores of all items for the targets
)

// scaled is the gain for a model whose scores have the spread now, in place of one with the spread
// then. It is 0 if one of them gives all items the same score.
func scaled(gain, then, now float64) float64 {
	if gain *= now / then; then > 0 && !math.IsInf(gain, 0) {
		return gain
	}
	return 0
}

// past divides training histories by time.
type past struct {
	all   *dataset.Histories
	begin int64        // of the newest events
	specs []trend.Spec // of trends, to choose from
	every int          // the second model learns from the users 0, every, 2·every, …
	place []int32      // of each item in the second model; −1: that model does not know the item
	items int          // number of items of the second model
	log   *trend.Log   // of all events on these items, by their places
}

// newPast returns nil if the histories have no times, or not several of them.
func newPast(h *dataset.Histories, items int) *past {
	after := int(trendShare * float64(len(h.Time)))
	if after == 0 {
		return nil
	}
	x := &past{all: h, place: make([]int32, items), log: trend.NewLog(h.Time, h.Item)}
	x.begin = x.log.Time(len(h.Time) - after)
	earlier := x.log.Before(x.begin)
	if earlier == 0 {
		return nil
	}
	x.specs = trend.Candidates(x.log, earlier)
	x.every = 1 + earlier/mostLearned
	for i := range x.place {
		x.place[i] = -1
	}
	for u := 0; u < h.Len(); u += x.every {
		for _, i := range h.Of(u)[:x.before(u)] {
			x.place[i] = 0
		}
	}
	for i := range x.place {
		if x.place[i] == 0 {
			x.place[i] = int32(x.items)
			x.items++
		}
	}
	if x.items == 0 {
		return nil
	}
	x.log.Keep(x.place)
	return x
}

// learn returns a model of the events before the newest, of the items that have some.
func (x *past) learn(p *dataset.Partition, like *model.Model) (*model.Model, error) {
	early := &dataset.Partition{Train: dataset.Histories{Ptr: []int64{0}}}
	for i, id := range p.Items {
		if x.place[i] >= 0 {
			early.Items = append(early.Items, id)
		}
	}
	for u := 0; u < x.all.Len(); u += x.every {
		x.appendKnown(&early.Train, u, x.before(u))
	}
	cfg := Config{Spec: like.Spec(), Rank: min(trendRank, like.Rank()), CutRank: true}
	cfg.Spec.Dynamics.Deviation, cfg.Spec.Provenance = false, nil
	cfg.Spec.Dynamics.Popularity = 0 // see docs/mathematics.md
	basis, err := Solve(early, cfg)
	if err != nil {
		return nil, err
	}
	h := fit.Histories{Train: Each(&early.Train), KeepLocal: true}
	r, err := learn(early, cfg, basis, int64(early.Train.Len()), h)
	if err != nil {
		return nil, err
	}
	return r.Model, nil
}

// before is the number of events of the u-th user before the newest.
func (x *past) before(u int) int {
	n, _ := slices.BinarySearch(x.all.Times(u), x.begin)
	return n
}

// appendKnown appends to h, as one history, those of the first n events of the u-th user whose
// items have a place; nothing if there are none.
func (x *past) appendKnown(h *dataset.Histories, u, n int) {
	items, times, weights := x.all.Of(u), x.all.Times(u), x.all.Weights(u)
	begin := len(h.Item)
	for j, i := range items[:n] {
		if x.place[i] < 0 {
			continue
		}
		h.Item, h.Time = append(h.Item, x.place[i]), append(h.Time, times[j])
		if weights != nil {
			h.Weight = append(h.Weight, weights[j])
		}
	}
	if len(h.Item) > begin {
		h.User, h.Ptr = append(h.User, x.all.User[u]), append(h.Ptr, int64(len(h.Item)))
	}
}

// targets returns histories that end with a target, which is one of the newest events: the first
// few of each user, evenly spaced over all users.
func (x *past) targets() *dataset.Histories {
	type target struct{ user, at int }
	var all []target
	for u := range x.all.Len() {
		taken, known := 0, false
		for at, i := range x.all.Of(u) {
			if known && x.place[i] >= 0 && at >= x.before(u) && taken < mostPerUser {
				all = append(all, target{u, at})
				taken++
			}
			known = known || x.place[i] >= 0
		}
	}
	h := &dataset.Histories{Ptr: []int64{0}}
	limit := max(1, min(len(all), mostChoices, mostScores/x.items))
	for t := range min(limit, len(all)) {
		of := all[t*len(all)/limit]
		x.appendKnown(h, of.user, of.at+1)
	}
	return h
}

// choices are the targets as a model of the past sees them, and their times.
func (x *past) choices(m *model.Model) (choices []trend.Choice, times []int64) {
	h := x.targets()
	for u := range h.Len() {
		times = append(times, h.Times(u)[len(h.Times(u))-1])
	}
	return choicesOf(m, h), times
}

// choicesOf scores all items for the last item of each history. The items that the user has before
// it are left out.
func choicesOf(m *model.Model, h *dataset.Histories) []trend.Choice {
	choices := make([]trend.Choice, h.Len())
	parallel.TasksWith(h.Len(), func() func(u int) {
		q := m.NewQuery()
		return func(u int) {
			history := History(h, u)
			last := len(history) - 1
			c := &choices[u]
			c.User, c.Target = h.User[u], history[last].Item
			c.Scores = make([]float32, m.NumItems())
			m.QueryTo(q, m.StateOf(history[:last]), model.EstimatorBGS)
			m.ScoresTo(c.Scores, q)
			for _, e := range history[:last] {
				c.Scores[e.Item] = float32(math.Inf(-1))
			}
		}
	})
	return choices
}

// likeliest returns the constants that foresee the choices at these times best.
func (x *past) likeliest(choices []trend.Choice, times, degrees []int64) trend.Spec {
	var best trend.Spec
	var fitted trend.Likelihood
	value := math.Inf(-1)
	for at, spec := range x.specs {
		x.addTrends(choices, times, spec, degrees)
		if at == 0 {
			fitted = trend.Plain(choices)
		}
		if fitted = trend.Fit(choices, fitted); fitted.Value > value {
			value, best = fitted.Value, spec
			best.Gain = fitted.Gain()
		}
	}
	x.addTrends(choices, times, best, degrees)
	best.Power, best.Gain = trend.Choose(choices, best.Gain)
	return best
}

// addTrends adds to the choices the trends after the last span that ended before their times.
func (x *past) addTrends(choices []trend.Choice, times []int64, spec trend.Spec, degrees []int64) {
	last := func(u int) int64 { return spec.SpanOf(times[u]) - 1 }
	after := map[int64][]float32{}
	for u := range choices {
		after[last(u)] = nil
	}
	for span := range after {
		after[span] = make([]float32, len(degrees))
	}
	spans, log := slices.Sorted(maps.Keys(after)), x.log.Divide(spec)
	parallel.Strips(len(spans), trend.Together(len(degrees)), func(lo, hi int) {
		for b, rates := range log.RatesAfter(spans[lo:hi], len(degrees)) {
			rates.TrendsTo(after[spans[lo+b]], degrees)
		}
	})
	for u := range choices {
		choices[u].Trends = after[last(u)]
	}
}

// spreadNow is the spread of the scores of m, at the last events of users with newest events.
func (x *past) spreadNow(m *model.Model) float64 {
	h := &dataset.Histories{Ptr: []int64{0}}
	var users []int
	for u := range x.all.Len() {
		if n := len(x.all.Of(u)); n > 1 && x.before(u) < n {
			users = append(users, u)
		}
	}
	limit := max(1, min(len(users), mostChoices, mostScores/m.NumItems()))
	for t := range min(limit, len(users)) {
		u := users[t*len(users)/limit]
		h.Item, h.Time = append(h.Item, x.all.Of(u)...), append(h.Time, x.all.Times(u)...)
		h.Weight = append(h.Weight, x.all.Weights(u)...)
		h.User, h.Ptr = append(h.User, x.all.User[u]), append(h.Ptr, int64(len(h.Item)))
	}
	return spreadOf(choicesOf(m, h))
}

// spreadOf is the median, over choices, of the distance between the tenth best score and the median
// score of the items that are not left out. Of fewer than 40 items, the upper quartile stands for
// the tenth best score.
func spreadOf(choices []trend.Choice) float64 {
	var spreads []float64
	for u := range choices {
		left := slices.DeleteFunc(slices.Clone(choices[u].Scores), func(score float32) bool {
			return math.IsInf(float64(score), -1)
		})
		if n := len(left); n > 0 {
			median := stat.Nth(left, n/2)
			best := stat.Nth(left[n/2:], max(n-10, 3*n/4)-n/2)
			spreads = append(spreads, float64(best)-float64(median))
		}
	}
	if len(spreads) == 0 {
		return 0
	}
	slices.Sort(spreads)
	return spreads[len(spreads)/2]
}
