package evaluate

import (
	"slices"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
)

// ShownUsers are the numbers of early users of a new item that [NewItems.Run] shows.
var ShownUsers = []int{0, 1, 2, 5, 10}

// Constants of the targets of NewItems.
const (
	newItemsTargets = 8  // newest events of a test user that are targets, at most
	newItemsCutoff  = 50 // list length N of its figures
	contentEvents   = 10 // newest events that ByContent ranks by
)

// Names of methods that know what items say of themselves.
const (
	WithContent = "dynamics, content" // new items borrow from those of like content
	ByContent   = "content"           // the mean similarity with the newest events of the user
)

// NewItemsResult holds the figures of a method after some users of each new item were shown.
type NewItemsResult struct {
	Method string // [Dynamics], [Popularity], [WithContent] or [ByContent]
	Shown  int    // one of ShownUsers
	New    Metric // HR@50 and NDCG@50 of targets that were hidden, among all items
	Known  Metric // of the other targets

	// Change is that of the NDCG@50 of all targets against showing no new items, in units of the
	// latter, with its standard error by users.
	Change, ChangeErr float64
}

// newTarget is an event of a test user that is to be foreseen.
type newTarget struct {
	user   int32 // of the tested ones
	at     int   // the event in the history
	hidden bool  // the item is new
}

// Run ranks the targets, with every number of ShownUsers. They are the last events of the test
// users, each after an event on an item that is not hidden. No query has events on hidden items.
// Progress, if not nil, is told the number of targets done.
func (x *NewItems) Run(
	m *model.Model, progress func(done, total int),
) (targets [2]int, results []NewItemsResult, err error) {
	list := x.targets()
	users := make([]int32, len(list))
	for at, t := range list {
		users[at] = t.user
		if t.hidden {
			targets[0]++
		} else {
			targets[1]++
		}
	}
	steps, near := 2*len(ShownUsers), [][]content.Neighbour(nil)
	if x.Content != nil {
		near, steps = x.nearest(), 3*len(ShownUsers)+1
	}
	r := &newRun{list: list, users: users, plain: map[string][]int32{}, progress: func(done int) {
		if progress != nil {
			progress(done, steps*len(list))
		}
	}}
	extended := m
	for _, shown := range ShownUsers {
		if extended, err = x.Extend(m, shown, nil); err != nil {
			return targets, nil, err
		}
		r.add(Dynamics, shown, x.byModel(extended, list))
		r.add(Popularity, shown, x.byDegree(extended, list))
		if x.Content == nil {
			continue
		}
		if extended, err = x.Extend(m, shown, near); err != nil {
			return targets, nil, err
		}
		r.add(WithContent, shown, x.byModel(extended, list))
	}
	if x.Content != nil {
		r.add(ByContent, 0, x.byContent(extended, list))
	}
	return targets, r.results, nil
}

// targets are those of the test users.
func (x *NewItems) targets() (list []newTarget) {
	barred := ranking.SetOf(len(x.full.Items), x.tested.Hidden...)
	for u := range x.tested.Len() {
		items := x.tested.Of(u)
		first := slices.IndexFunc(items, func(i int32) bool { return !x.isHidden(x.place[i]) })
		if first < 0 {
			continue
		}
		for at := max(first+1, len(items)-newItemsTargets); at < len(items); at++ {
			if !barred.Has(items[at]) {
				list = append(list, newTarget{int32(u), at, x.isHidden(x.place[items[at]])})
			}
		}
	}
	return list
}

// newRun gathers the results of a run.
type newRun struct {
	list     []newTarget
	users    []int32
	plain    map[string][]int32 // ranks of a method without new items
	results  []NewItemsResult
	progress func(done int)
}

// add adds the result of a method.
func (r *newRun) add(method string, shown int, ranks []int32) {
	plain := method
	if method != Popularity {
		plain = Dynamics
	}
	if r.plain[plain] == nil {
		r.plain[plain] = ranks
	}
	result := NewItemsResult{Method: method, Shown: shown,
		New: newMetric(r.list, ranks, true), Known: newMetric(r.list, ranks, false)}
	result.Change, result.ChangeErr, _ = changeByUser(newItemsCutoff, r.plain[plain], ranks,
		r.users)
	r.results = append(r.results, result)
	r.progress(len(r.results) * len(r.list))
}

// rank ranks the targets by the scores that a worker stores for the items of m.
func (x *NewItems) rank(
	m *model.Model, list []newTarget,
	newWorker func() (score func(past model.History) []float32),
) []int32 {
	ranks := make([]int32, len(list))
	forEach(len(list), nil, func() func(t int) {
		score := newWorker()
		return func(t int) {
			past, seen, target := x.placeTarget(m, list[t])
			if ranks[t] = int32(len(x.full.Items)); target >= 0 {
				ranks[t] = rank(score(past), target, seen)
			}
		}
	})
	return ranks
}

// byModel ranks the targets by a model.
func (x *NewItems) byModel(m *model.Model, list []newTarget) []int32 {
	method := LearnedDynamics()
	return x.rank(m, list, func() func(model.History) []float32 {
		scores, q := make([]float32, m.NumItems()), m.NewQuery()
		return func(past model.History) []float32 {
			method.queryTo(q, m, past)
			m.ScoresTo(scores, q)
			return scores
		}
	})
}

// byDegree ranks the targets by the numbers of users that m has of its items.
func (x *NewItems) byDegree(m *model.Model, list []newTarget) []int32 {
	popular := make([]float32, m.NumItems())
	for i := range popular {
		popular[i] = float32(m.Degree(int32(i)))
	}
	return x.rank(m, list, func() func(model.History) []float32 {
		return func(model.History) []float32 { return popular }
	})
}

// byContent ranks the targets by content alone, among the items of m, which has all.
func (x *NewItems) byContent(m *model.Model, list []newTarget) []int32 {
	index := indexOf(x.Content, m.NumItems(), m.ItemID)
	return x.rank(m, list, func() func(model.History) []float32 {
		scores := make([]float32, m.NumItems())
		return func(past model.History) []float32 {
			clear(scores)
			for _, e := range past[max(0, len(past)-contentEvents):] {
				index.AddTo(scores, x.Content[m.ItemID(e.Item)])
			}
			return scores
		}
	})
}

// placeTarget returns what the query of a target comes from, the items before it, and the target,
// as indices of m; −1 stands for a target that m does not know.
func (x *NewItems) placeTarget(
	m *model.Model, t newTarget,
) (past model.History, seen []int32, target int32) {
	history := train.History(x.tested, int(t.user))[:t.at+1]
	for _, e := range history {
		i, known := m.ItemIndex(x.full.Items[e.Item])
		if target = i; !known {
			target = -1
			continue
		}
		seen = append(seen, i)
		if e.Item = i; m.InBase(i) {
			past = append(past, e)
		}
	}
	if target >= 0 {
		seen = seen[:len(seen)-1]
		if m.InBase(target) {
			past = past[:len(past)-1]
		}
	}
	for _, i := range x.tested.Hidden {
		if at, known := m.ItemIndex(x.full.Items[i]); known {
			seen = append(seen, at)
		}
	}
	return past, seen, target
}

// newMetric is the metric of the targets that are hidden, or of the others.
func newMetric(list []newTarget, ranks []int32, hidden bool) Metric {
	var of, users []int32
	for t := range list {
		if list[t].hidden == hidden {
			of, users = append(of, ranks[t]), append(users, list[t].user)
		}
	}
	return metricByUser(newItemsCutoff, of, users)
}
