package evaluate

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/model/trend"
)

// Arrivals is how [Trending] foresees events from T on, those on new items among them, if new items
// join the model as on a server: with the users that they have in the spans before, and without
// users by their content, from T on. Targets are the first [mostTargets] events of users who have
// an item of the model.
type Arrivals struct {
	Items   int `json:"items"` // new ones
	Targets int `json:"targets"`
	New     int `json:"new_targets"`

	LeftOut ArrivalMetric `json:"left_out"`       // new items never join
	Still   ArrivalMetric `json:"without_trends"` // new items have no trends, the others have
	Served  ArrivalMetric `json:"served"`

	// Change is by which part of itself the NDCG@10 of all targets of LeftOut changes to that of
	// Served, and TrendChange likewise that of Still.
	Change         float64 `json:"change"`
	ChangeErr      float64 `json:"change_stderr"`
	TrendChange    float64 `json:"trend_change"`
	TrendChangeErr float64 `json:"trend_change_stderr"`
}

// ArrivalMetric are the figures of one kind of list.
type ArrivalMetric struct {
	New    float64 `json:"new_hr@50"` // of targets on new items
	NewErr float64 `json:"new_hr@50_stderr"`
	Known  float64 `json:"known_ndcg@10"` // of the others
	All    float64 `json:"all_ndcg@10"`
}

// arrivals make the models of a server from T on.
type arrivals struct {
	m        *model.Model // as it was trained
	spec     trend.Spec
	events   *dataset.Interactions
	place    []int32  // in m, or after its items, of every item of events
	ids      []string // of new items, rising
	near     [][]content.Neighbour
	borrowed []model.NewItem // of new items with neighbours
	visitors []int           // users of new items
	trained  trend.Degrees
	counts   *trend.Counts
	spans    []int64 // with events, rising
	from     []int64 // events from each of spans on
}

// runArrivals ranks the targets. It is nil without new items.
func (x *ByTime) runArrivals(m *model.Model, spec trend.Spec) (*Arrivals, error) {
	a, err := x.newArrivals(m, spec)
	if err != nil || len(a.ids) == 0 {
		return nil, err
	}
	targets, users := x.arrivalTargets()
	targets = someUsers(targets, users, x.limit)
	groups := map[int64][]int{}
	for t := range targets {
		span := spec.SpanOf(targets[t].last().Time)
		groups[span] = append(groups[span], t)
	}
	var spans []int64
	for span := range groups {
		spans = append(spans, span)
	}
	var ranks [3][]int32
	for k := range ranks {
		ranks[k] = make([]int32, len(targets))
	}
	errs := make([]error, len(spans))
	parallel.TasksWith(len(spans), func() func(b int) {
		return func(b int) {
			models, index, err := a.at(spans[b])
			if errs[b] = err; err != nil {
				return
			}
			for k, m := range models {
				scores, q := make([]float32, m.NumItems()), m.NewQuery()
				for _, t := range groups[spans[b]] {
					ranks[k][t] = x.arrivalRank(&targets[t], m, q, scores, index)
				}
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return a.figures(targets, ranks), nil
}

// newArrivals finds the new items and their users.
func (x *ByTime) newArrivals(m *model.Model, spec trend.Spec) (*arrivals, error) {
	d := x.final.events
	a := &arrivals{m: m, spec: spec, events: d, place: slices.Clone(x.final.place),
		trained: trend.DegreesOf(m.NumItems(), m.Degree), counts: &trend.Counts{}}
	for i, id := range d.Items {
		if a.place[i] < 0 {
			a.place[i] = int32(m.NumItems() + len(a.ids))
			a.ids = append(a.ids, id)
		}
	}
	for u := range d.Users {
		of := d.Item[d.Ptr[u]:d.Ptr[u+1]]
		if slices.ContainsFunc(of, func(i int32) bool { return !a.known(a.place[i]) }) {
			a.visitors = append(a.visitors, u)
		}
	}
	for j, i := range d.Item {
		a.counts.Add(spec.SpanOf(d.Time[j]), a.place[i], 1)
	}
	a.spans, a.from = a.counts.Spans()
	a.near, a.borrowed = make([][]content.Neighbour, len(a.ids)), make([]model.NewItem, len(a.ids))
	if x.Content == nil {
		return a, nil
	}
	index := indexOf(x.Content, m.NumItems(), m.ItemID)
	for i, id := range a.ids {
		near := index.Nearest(x.Content[id], model.ContentNeighbours)
		if len(near) == 0 {
			continue
		}
		a.near[i] = near
		var err error
		users := a.trained.Expected(0, 0, m.DegreeNear(a.near[i]))
		if a.borrowed[i], err = m.Borrow(id, users, a.near[i]); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *arrivals) known(place int32) bool { return int(place) < a.m.NumItems() }

// arrivalTargets returns the targets over the items of the events, by user, and the number of
// users.
func (x *ByTime) arrivalTargets() (all []nextTarget, users int) {
	d := x.final.events
	for u := range d.Users {
		var h model.History
		known, had, before := false, map[int32]bool{}, len(all)
		for _, r := range d.Whole(u) {
			h = append(h, model.Event{Item: r.Item, Weight: r.Weight, Time: r.Time})
			if known && r.Time >= x.Begin && !had[r.Item] && !x.hidden[r.Item] &&
				len(all)-before < mostTargets {
				all = append(all, nextTarget{slices.Clip(h), int32(u)})
			}
			known, had[r.Item] = known || x.final.place[r.Item] >= 0, true
		}
		if len(all) > before {
			users++
		}
	}
	return all, users
}

// at returns the models of a server in a span: without new items, with new items that have no
// trends, and as it serves; and the index of every item of the events in them, or −1.
func (a *arrivals) at(span int64) (models [3]*model.Model, index []int32, err error) {
	items, err := a.placed(span)
	if err != nil {
		return models, nil, err
	}
	m, err := a.m.Extend(items)
	if err != nil {
		return models, nil, err
	}
	numbers, shares := make([]int32, m.NumItems()), m.Degrees()
	of := slices.Repeat([]int32{-1}, a.m.NumItems()+len(a.ids))
	var names []string
	for i := range numbers {
		if numbers[i] = int32(i); !m.InBase(int32(i)) {
			id := m.ItemID(int32(i))
			at, _ := slices.BinarySearch(a.ids, id)
			numbers[i], names = int32(a.m.NumItems()+at), append(names, id)
		}
		of[numbers[i]] = int32(i)
	}
	index = make([]int32, len(a.place))
	for i, place := range a.place {
		index[i] = of[place]
	}
	rates := a.counts.RatesAfter(span-1, a.spec.HalfLife, len(of))
	s := rates.Of(numbers, a.m.NumItems()).Snapshot(&a.spec, shares)
	s.Names = names
	models[2] = m.WithTrends(s)
	still := *s
	still.G = slices.Clone(s.G)
	clear(still.G[a.m.NumItems():])
	still.SetBy(&a.spec)
	models[1] = m.WithTrends(&still)
	known := rates.Of(numbers[:a.m.NumItems()], a.m.NumItems())
	models[0] = a.m.WithTrends(known.Snapshot(&a.spec, shares[:a.m.NumItems()]))
	return models, index, nil
}

// placed places the new items by the events before a span.
func (a *arrivals) placed(span int64) (items []model.NewItem, err error) {
	users, since := make([]float64, len(a.ids)), make([]float64, len(a.ids))
	a.each(span, func(places []int32, times []int64) {
		for at, place := range places {
			if !a.known(place) {
				i := int(place) - a.m.NumItems()
				users[i]++
				since[i] = max(since[i], a.eventsSince(times[at], span))
			}
		}
	})
	var ids []string
	var placed []int
	number := slices.Repeat([]int32{-1}, a.m.NumItems()+len(a.ids))
	for i := range a.m.NumItems() {
		number[i] = int32(i)
	}
	for i, id := range a.ids {
		switch {
		case users[i] >= model.MinNewUsers || users[i] == 1 && a.near[i] != nil:
			number[a.m.NumItems()+i] = int32(a.m.NumItems() + len(ids))
			ids, placed = append(ids, id), append(placed, i)
		case users[i] == 0 && a.near[i] != nil:
			items = append(items, a.borrowed[i])
		}
	}
	evidence, err := a.m.NewEvidence(ids, nil)
	if err != nil {
		return nil, err
	}
	a.each(span, func(places []int32, _ []int64) {
		history := make([]int32, len(places))
		for at, place := range places {
			history[at] = number[place]
		}
		evidence.Add(history)
	})
	for at, i := range placed {
		expected := a.trained.Expected(users[i], since[i], a.m.DegreeNear(a.near[i]))
		item, err := evidence.PlaceNear(at, expected, a.near[i])
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// each calls do with the events before a span of the users of new items who have some.
func (a *arrivals) each(span int64, do func(places []int32, times []int64)) {
	var places []int32
	for _, u := range a.visitors {
		lo := a.events.Ptr[u]
		hi := eventsBefore(a.events, u, span*a.spec.Span)
		if places = places[:0]; lo == hi {
			continue
		}
		for _, i := range a.events.Item[lo:hi] {
			places = append(places, a.place[i])
		}
		do(places, a.events.Time[lo:hi])
	}
}

// eventsSince is the number of events from the span of a time on, before another span.
func (a *arrivals) eventsSince(time, span int64) float64 {
	events := int64(0)
	for b, sign := range map[int64]int64{a.spec.SpanOf(time): 1, span: -1} {
		if at, _ := slices.BinarySearch(a.spans, b); at < len(a.spans) {
			events += sign * a.from[at]
		}
	}
	return float64(events)
}

// arrivalRank is the place of a target by m, whose items index gives; none if m has none for it.
func (x *ByTime) arrivalRank(
	t *nextTarget, m *model.Model, q *model.Query, scores []float32, index []int32,
) int32 {
	indexIn := func(item int32) int32 {
		if i := index[item]; int(i) < m.NumItems() {
			return i
		}
		return -1
	}
	var past model.History
	var seen []int32
	for _, e := range t.before() {
		if e.Item = indexIn(e.Item); e.Item >= 0 {
			past, seen = append(past, e), append(seen, e.Item)
		}
	}
	target := indexIn(t.last().Item)
	if target < 0 {
		return math.MaxInt32
	}
	for item, hidden := range x.hidden {
		if i := indexIn(int32(item)); hidden && i >= 0 {
			seen = append(seen, i)
		}
	}
	LearnedDynamics().queryTo(q, m, past)
	m.ScoresTo(scores, q)
	return rank(scores, target, seen)
}

// figures are those of the ranks by the three models.
func (a *arrivals) figures(targets []nextTarget, ranks [3][]int32) *Arrivals {
	out := &Arrivals{Items: len(a.ids), Targets: len(targets)}
	users := make([]int32, len(targets))
	for t := range targets {
		if users[t] = targets[t].user; !a.known(a.place[targets[t].last().Item]) {
			out.New++
		}
	}
	for k, metric := range []*ArrivalMetric{&out.LeftOut, &out.Still, &out.Served} {
		var of, by [2][]int32 // known, new
		for t, r := range ranks[k] {
			kind := 0
			if !a.known(a.place[targets[t].last().Item]) {
				kind = 1
			}
			of[kind], by[kind] = append(of[kind], r), append(by[kind], users[t])
		}
		metric.Known, metric.All = MetricAt(10, of[0]).NDCG, MetricAt(10, ranks[k]).NDCG
		if out.New > 0 {
			m := metricByUser(newItemsCutoff, of[1], by[1])
			metric.New, metric.NewErr = m.HR, m.HRErr
		}
	}
	out.Change, out.ChangeErr, _ = changeByUser(10, ranks[0], ranks[2], users)
	out.TrendChange, out.TrendChangeErr, _ = changeByUser(10, ranks[1], ranks[2], users)
	return out
}
