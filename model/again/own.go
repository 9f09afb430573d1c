package again

import (
	"math"

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

// visits appends the visits of h to dst. The weight of each is above 0.
func visits(dst, h kalman.History) kalman.History {
	for _, e := range h[max(0, len(h)-Most):] {
		if !(e.Weight > 0) {
			continue
		}
		if n := len(dst); n > 0 && dst[n-1].Item == e.Item {
			dst[n-1].Time = e.Time
			continue
		}
		dst = append(dst, e)
	}
	return dst
}

// Of returns the items of the user's own history at a time in seconds, in the order of their first
// visits. Without a term, the items are the same.
func (s *Spec) Of(h kalman.History, now int64) []Own {
	v := visits(nil, h)
	at := make(map[int32]int, len(v))
	var own []Own
	for j, e := range v {
		i, met := at[e.Item]
		if !met {
			i = len(own)
			at[e.Item], own = i, append(own, Own{Item: e.Item})
		}
		o := &own[i]
		age := float64(len(v) - j)
		if s.Days {
			age = 1 + float64(max(now-e.Time, 0))/day
		}
		o.recency += math.Pow(age, -s.Decay)
		o.Visits, o.Last = o.Visits+1, e.Time
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
	at := make(map[int32]int, len(boosts))
	for b := range boosts {
		at[boosts[b].Item] = b
	}
	for i := range own {
		o, term := &own[i], float32(s.Term(&own[i]))
		if b, met := at[o.Item]; met {
			boosts[b].Score += term
		} else {
			boosts = append(boosts, ranking.Boost{Item: o.Item, Score: term})
		}
	}
	return boosts
}
