package evaluate

import (
	"slices"

	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// ShownUsers are the numbers of early users of a new item that [NewItems.Run] shows.
var ShownUsers = []int{0, 1, 2, 5, 10}

// Constants of the targets of NewItems.
const (
	newItemsTargets = 8  // newest events of a test user that are targets, at most
	newItemsCutoff  = 50 // list length N of its figures
)

// NewItemsResult holds the figures of a method after some users of each new item were shown.
type NewItemsResult struct {
	Method string // [Dynamics] or [Popularity]
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
	var plain [2][]int32
	for at, shown := range ShownUsers {
		extended, err := x.Extend(m, shown)
		if err != nil {
			return targets, nil, err
		}
		ranks := x.rankTargets(extended, list, func(done int) {
			if progress != nil {
				progress(at*len(list)+done, len(ShownUsers)*len(list))
			}
		})
		if at == 0 {
			plain = ranks
		}
		for k, method := range []string{Dynamics, Popularity} {
			r := NewItemsResult{Method: method, Shown: shown,
				New: newMetric(list, ranks[k], true), Known: newMetric(list, ranks[k], false)}
			r.Change, r.ChangeErr, _ = changeByUser(newItemsCutoff, plain[k], ranks[k], users)
			results = append(results, r)
		}
	}
	return targets, results, nil
}

// targets are those of the test users.
func (x *NewItems) targets() (list []newTarget) {
	for u := range x.tested.Len() {
		items := x.tested.Of(u)
		first := slices.IndexFunc(items, func(i int32) bool { return !x.isHidden(x.place[i]) })
		if first < 0 {
			continue
		}
		for at := max(first+1, len(items)-newItemsTargets); at < len(items); at++ {
			list = append(list, newTarget{int32(u), at, x.isHidden(x.place[items[at]])})
		}
	}
	return list
}

// rankTargets ranks the targets by a model, and by its numbers of users.
func (x *NewItems) rankTargets(
	m *model.Model, list []newTarget, progress func(done int),
) (ranks [2][]int32) {
	popular := degrees(m)
	for k := range ranks {
		ranks[k] = make([]int32, len(list))
	}
	method := LearnedDynamics()
	forEach(len(list), progress, func() func(t int) {
		scores, q := make([]float32, m.NumItems()), m.NewQuery()
		return func(t int) {
			past, seen, target := x.placeTarget(m, list[t])
			if target < 0 {
				ranks[0][t], ranks[1][t] = int32(len(x.full.Items)), int32(len(x.full.Items))
				return
			}
			method.queryTo(q, m, past)
			m.ScoresTo(scores, q)
			ranks[0][t] = rank(scores, target, seen)
			ranks[1][t] = rank(popular, target, seen)
		}
	})
	return ranks
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
