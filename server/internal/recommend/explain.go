package recommend

import (
	"cmp"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/state"
)

// explain finds, for each result, the items of the history that contributed most to its score.
func (l *list) explain() {
	t := l.tail
	if t == nil {
		t = state.NewTail(l.Model)
	}
	items := make([]int32, len(l.out.Top))
	for i, scored := range l.out.Top {
		items[i] = scored.Item
	}
	x := l.Explain(t.Before, t.Events, items, l.s.Estimator)
	groups := groupByItem(t.Events)
	l.out.Explanations = make([]*pb.Explanation, len(items))
	for i := range items {
		l.out.Explanations[i] = explanation(l.Model, int(l.req.GetExplain()), x, i, groups,
			l.timed)
		l.out.Explanations[i].Again = l.againOf(items[i])
		for _, alike := range l.Items.Shown(l.Like(items[i]), l.now) {
			l.out.Explanations[i].LikeItemIds = append(l.out.Explanations[i].LikeItemIds,
				l.ItemID(alike))
		}
	}
	l.addRules(items)
}

// itemEvents are the events of a history on one item, by their places.
type itemEvents struct {
	item   int32
	newest int64 // time in seconds
	events []int
}

func groupByItem(h model.History) []itemEvents {
	place := make(map[int32]int, len(h))
	var groups []itemEvents
	for s, e := range h {
		at, known := place[e.Item]
		if !known {
			at = len(groups)
			place[e.Item] = at
			groups = append(groups, itemEvents{item: e.Item, newest: e.Time})
		}
		g := &groups[at]
		g.newest = max(g.newest, e.Time)
		g.events = append(g.events, s)
	}
	return groups
}

// explanation makes the message for result i: the n largest contributions, ties to the item that
// came first.
func explanation(
	m *model.Model, n int, x *model.Explanation, i int, groups []itemEvents, timed bool,
) *pb.Explanation {
	sums, local := make([]float64, len(groups)), make([]float64, len(groups))
	order := make([]int, len(groups))
	for g := range groups {
		order[g] = g
		for _, s := range groups[g].events {
			sums[g] += x.Events[i*x.Length+s]
			if x.Local != nil {
				local[g] += x.Local[i*x.Length+s]
			}
		}
	}
	slices.SortStableFunc(order,
		func(a, b int) int { return cmp.Compare(math.Abs(sums[b]), math.Abs(sums[a])) })
	n = min(n, len(order))
	out := &pb.Explanation{Base: x.Base[i], Trend: x.Trend[i], Remainder: x.Earlier[i]}
	for _, g := range order[:n] {
		c := &pb.Contribution{ItemId: m.ItemID(groups[g].item),
			Events: int32(len(groups[g].events)), Contribution: sums[g], Local: local[g]}
		if timed {
			c.EventTime = timestamppb.New(time.Unix(groups[g].newest, 0))
		}
		out.Contributions = append(out.Contributions, c)
	}
	for _, g := range order[n:] {
		out.Remainder += sums[g]
	}
	return out
}
