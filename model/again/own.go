package again

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
)

// Most is the number of events at the end of a history that count.
const Most = 1000

const day = 24 * 60 * 60 // seconds

// Own is an item of a user's own history.
type Own struct {
	Item   int32
	Visits int
	Last   int64 // time of the last visit, in seconds

	recency float64 // ln Σ age^−δ
	newest  float64 // 1 of the item of the last visit, else 0
}

// visits returns the visits of h. A visit is an event with a weight above 0 that no event of a
// weight below 0 follows on the same item. Where visits of one item follow each other directly, the
// last one stands for all.
func visits(h kalman.History) (v kalman.History) {
	disliked := map[int32]bool{}
	for _, e := range slices.Backward(h[max(0, len(h)-Most):]) {
		switch {
		case e.Weight < 0:
			disliked[e.Item] = true
		case !(e.Weight > 0) || disliked[e.Item]:
		case len(v) > 0 && v[len(v)-1].Item == e.Item:
		default:
			v = append(v, e)
		}
	}
	slices.Reverse(v)
	return v
}

// Of returns the items of the user's own history at a time in seconds, in the order of their first
// visits. Without a term, the items are the same.
func (s *Spec) Of(h kalman.History, now int64) []Own {
	v := visits(h)
	at := make(map[int32]int, len(v))
	var own []Own
	for j, e := range v {
		i, met := at[e.Item]
		if !met {
			i = len(own)
			at[e.Item], own = i, append(own, Own{Item: e.Item, Last: math.MinInt64})
		}
		o := &own[i]
		age := float64(len(v) - j)
		if s.Days {
			age = 1 + float64(max(now-e.Time, 0))/day
		}
		o.recency += math.Pow(age, -s.Decay)
		o.Visits, o.Last = o.Visits+1, max(o.Last, e.Time)
	}
	for i := range own {
		own[i].recency = math.Log(own[i].recency)
	}
	if len(v) > 0 {
		own[at[v[len(v)-1].Item]].newest = 1
	}
	return own
}

// Term is what the score of an item is higher by.
func (s *Spec) Term(o *Own) float64 {
	if s.None() {
		return 0
	}
	return s.Constant + float64(s.Recency*o.recency) - float64(s.Newest*o.newest)
}

// AddTo adds the terms to the additions of a query, which have each item at most once.
func (s *Spec) AddTo(boosts []ranking.Boost, own []Own) []ranking.Boost {
	if s.None() {
		return boosts
	}
	at := make(map[int32]int, len(own))
	for i := range own {
		at[own[i].Item] = i
	}
	for b := range boosts {
		if i, met := at[boosts[b].Item]; met {
			boosts[b].Score += float32(s.Term(&own[i]))
			delete(at, boosts[b].Item)
		}
	}
	for i := range own {
		o := &own[i]
		if _, left := at[o.Item]; left {
			boosts = append(boosts, ranking.Boost{Item: o.Item, Score: float32(s.Term(o))})
		}
	}
	return boosts
}
