package model

import (
	"github.com/gsimc/gsimc/kalman"
)

// Explanation splits the scores of items into contributions. With j the place of the item in the
// list that was asked for,
//
//	score = Base[j] + Trend[j] + Earlier[j] + Σ_s Events[j·Length + s]
//
// up to the rounding of the float32 fold.
type Explanation struct {
	Base    []float64 // the score without events: the part of μ that is left, and popularity
	Trend   []float64 // by how much the trend of the item makes the score higher, see WithTrends
	Earlier []float64 // the contribution of the state before the events
	Events  []float64 // items × Length, row-major: the contribution of each event
	Local   []float64 // as Events: the part of it from the local term; nil for a model without one
	Length  int       // number of events
}

// Explain unrolls the fold of h into the contributions of each event to the scores of items. before
// is the state that h was folded into, [Model.NewState] for a whole history. Explain does not
// change it.
//
// An update is linear in the rows of its item. Its factors, the gains K and the decays a, depend on
// times and weights only. So the query is a sum of vectors c_s, one for each event, and event s
// contributes v_j·c_s to the score of j. With G_t = K_t ∘ Π_{t'>t} (1 − K_t') and A_b(s→t) the
// decay of band b from event s to event t
//
//	learned dynamics   c_s = Σ_b (A_b(s→T) − g_s^b) ∘ w_s W_b e_s + G_s ∘ e_s,
//	                   g_s^b = Σ_{t>s} A_b(s→t−1) G_t,    base μ ∘ (1 − Σ_t G_t) + ω h
//	GS-IMC             c_s = A(s→T) w_s H e_s
//	BGS-IMC            c_s = R_s ∘ (1 − K_s) ∘ w_s H e_s + m_s ∘ w_s e_s,
//	                   R_s = Π_{t>s} (1 − K_t) a_t,    m_s = Σ_{t≥s} A(s→t) R_t ∘ K_t
//
// The local term adds a^p w_s T_{i_s j} to the contribution of event s, p events before the newest
// one, see package local.
//
// The term G_s ∘ e_s is the event's addition to the deviation. g_s^b is the part of the innovations
// of later events that the event's trace in band b removed. Gains and decays are the float32
// numbers of the fold; the sums are in float64.
//
// A contribution is not the change of the score if the event is deleted: the gains of the other
// events would change as well.
//
// O(len(h)·k·(r + len(items))) time, len(h)·(k + len(items)) numbers of memory.
func (m *Model) Explain(
	before *kalman.State, h History, items []int32, est Estimator,
) *Explanation {
	plain := m.WithoutTrends()
	for _, i := range items {
		m.checkItem(i)
	}
	x := &Explanation{
		Length: len(h), Events: make([]float64, len(items)*len(h)),
		Earlier: make([]float64, len(items)),
	}
	u := &unrolling{
		m: plain, before: before, h: h, est: est,
		base: make([]float64, m.k), earlier: make([]float64, m.k),
		each: func(s int, c []float64) {
			for j, i := range items {
				x.Events[j*len(h)+s] = plain.scoreOf(i, c)
			}
		},
	}
	plain.transition.unroll(u)
	plain.explainLocal(x, before, h, items)
	for j, i := range items {
		x.Base = append(x.Base, plain.scoreOf(i, u.base))
		x.Earlier[j] += plain.scoreOf(i, u.earlier)
		x.Trend = append(x.Trend, float64(m.trendOf(i)))
		if m.factors != nil {
			x.Trend[j] += (float64(m.factors[i]) - 1) * x.without(j)
		}
	}
	return x
}

// without is the score of the item at place j without its trend.
func (x *Explanation) without(j int) float64 {
	sum := x.Base[j] + x.Earlier[j]
	for _, part := range x.Events[j*x.Length:][:x.Length] {
		sum += part
	}
	return sum
}

// scoreOf returns the score v_i·c of item i in float64.
func (m *Model) scoreOf(i int32, c []float64) float64 {
	row, g := m.decoder(i)
	sum := 0.0
	for j, u := range row {
		sum += float64(u) * c[j]
	}
	return sum * float64(g)
}

// explainLocal adds the local term of each event to its contributions. Events before h count for
// x.Earlier.
func (m *Model) explainLocal(x *Explanation, before *kalman.State, h History, items []int32) {
	if m.local == nil {
		return
	}
	x.Local = make([]float64, len(x.Events))
	add := func(e kalman.Recent, age, at int) {
		factor := m.local.Factor(age, e.Weight)
		if factor == 0 {
			return
		}
		for j, i := range items {
			term := float64(factor * m.local.Weight(e.Item, i))
			if at < 0 {
				x.Earlier[j] += term
			} else {
				x.Events[j*len(h)+at] += term
				x.Local[j*len(h)+at] = term
			}
		}
	}
	for at, e := range before.Recent {
		add(e, len(h)+len(before.Recent)-1-at, -1)
	}
	for at, e := range h {
		add(kalman.Recent{Item: e.Item, Weight: e.Weight}, len(h)-1-at, at)
	}
}
