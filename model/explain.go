package model

import (
	"github.com/gsimc/gsimc/kalman"
)

// Explanation says what the scores of some items are made of. For the item at place j of those asked for
//
//	score = Base[j] + Earlier[j] + Σ_s Events[j·Length + s]
//
// up to the rounding of the float32 fold.
type Explanation struct {
	Base    []float64 // what the user would get without events: the share of μ that is left
	Earlier []float64 // what the state held before the events
	Events  []float64 // items × Length, row-major: what each event adds
	Length  int       // events
}

// Explain unrolls the fold of h into the scores of items: what each event contributed to each of them. before is the state
// that h was folded into, [Model.NewState] for a whole history; it is not changed.
//
// An update is linear in the rows of its item, with factors (the gains K, the decays a) that depend on times and weights
// only. So the query is a sum of vectors c_s, one for each event, and event s contributes v_j·c_s to the score of j. With
// G_t = K_t ∘ Π_{t'>t} (1 − K_t') and A_b(s→t) the decay of band b from event s to event t
//
//	learned dynamics   c_s = Σ_b (A_b(s→T) − g_s^b) ∘ w_s W_b e_s + G_s ∘ e_s,    g_s^b = Σ_{t>s} A_b(s→t−1) G_t
//	                   base μ ∘ (1 − Σ_t G_t)
//	GS-IMC             c_s = A(s→T) w_s H e_s
//	BGS-IMC            c_s = R_s ∘ (1 − K_s) ∘ w_s H e_s + m_s ∘ w_s e_s,
//	                   R_s = Π_{t>s} (1 − K_t) a_t,    m_s = Σ_{t≥s} A(s→t) R_t ∘ K_t
//
// The second term of the first line is what the event itself added to the deviation, g what its trace in the bands took from
// the innovations of later events. Gains and decays are the float32 numbers of the fold, the sums are in float64. Events in
// the same history are not independent in what they say; a contribution is not the change of the score without the event,
// because the gains would be others.
//
// O(len(h)·k·(r + len(items))) time, len(h)·(k + len(items)) numbers of memory.
func (m *Model) Explain(before *kalman.State, h History, items []int32, est Estimator) *Explanation {
	for _, i := range items {
		m.checkItem(i)
	}
	x := &Explanation{Length: len(h), Events: make([]float64, len(items)*len(h))}
	t := m.trace(before, h)
	each := func(s int, c []float64) {
		for j, i := range items {
			x.Events[j*len(h)+s] = m.scoreOf(i, c)
		}
	}
	base, earlier := make([]float64, m.k), make([]float64, m.k)
	switch {
	case m.dynamics != nil:
		m.unrollDynamics(t, before, h, base, earlier, each)
	case est == EstimatorGS:
		m.unrollClosedForm(t, before, h, earlier, each)
	default:
		m.unrollFilter(t, before, h, earlier, each)
	}
	for _, i := range items {
		x.Base = append(x.Base, m.scoreOf(i, base))
		x.Earlier = append(x.Earlier, m.scoreOf(i, earlier))
	}
	return x
}

// scoreOf is v_i·c.
func (m *Model) scoreOf(i int32, c []float64) float64 {
	row, g := m.decoder(i)
	sum := 0.0
	for j, u := range row {
		sum += float64(u) * c[j]
	}
	return sum * float64(g)
}

// trace holds the factors of the updates of a history.
type trace struct {
	decays []float32 // len(h) × r, or × 1 without learned dynamics: a
	gains  []float32 // len(h) × k: K
}

// trace folds h into a copy of before and notes the factors on the way.
func (m *Model) trace(before *kalman.State, h History) *trace {
	r := 1
	if m.dynamics != nil {
		r = m.numBands()
	}
	t := &trace{decays: make([]float32, len(h)*r), gains: make([]float32, len(h)*m.k)}
	s := before.Clone()
	for at, e := range h {
		decays, gains := row(t.decays, at, r), row(t.gains, at, m.k)
		if m.dynamics != nil {
			m.dynamics.DecayTo(decays, s, e.Time)
			m.dynamics.GainTo(gains, s, e.Weight, e.Time)
		} else {
			decays[0] = m.kalman.DecayAt(s, e.Time)
			m.kalman.GainTo(gains, s, e.Time)
		}
		m.Fold(s, e)
	}
	return t
}

// unrollDynamics walks h from its end and calls each with c_s.
func (m *Model) unrollDynamics(t *trace, before *kalman.State, h History, base, earlier []float64, each func(s int, c []float64)) {
	k, r := m.k, m.numBands()
	keep := ones(r)               // A_b(s→T)
	taken := make([]float64, r*k) // g_s^b
	left := ones(k)               // Π_{t>s} (1 − K_t)
	used := make([]float64, k)    // Σ_{t>s} G_t
	c, gain := make([]float64, k), make([]float64, k)
	for s := len(h) - 1; s >= 0; s-- {
		e, rows := h[s], m.responseRows(h[s].Item)
		u, g := m.encoder(e.Item)
		for j, gainOf := range row(t.gains, s, k) {
			gain[j] = left[j] * float64(gainOf)
			left[j] *= 1 - float64(gainOf)
			used[j] += gain[j]
			c[j] = gain[j] * float64(g) * float64(u[j])
		}
		for b, a := range row(t.decays, s, r) {
			taken := row(taken, b, k)
			for j, x := range row(rows, b, k) {
				c[j] += (keep[b] - taken[j]) * float64(e.Weight) * float64(x)
				taken[j] = gain[j] + float64(a)*taken[j]
			}
			keep[b] *= float64(a)
		}
		each(s, c)
	}
	for j, mean := range m.dynamics.Mean {
		base[j] = float64(mean) * (1 - used[j])
		if before.B != nil {
			earlier[j] = left[j] * float64(before.B[j])
		}
		for b := range r {
			earlier[j] += (keep[b] - taken[b*k+j]) * float64(before.X[b*k+j])
		}
	}
}

// unrollClosedForm is unrollDynamics for q = H z.
func (m *Model) unrollClosedForm(t *trace, before *kalman.State, h History, earlier []float64, each func(s int, c []float64)) {
	c, keep := make([]float64, m.k), 1.0
	for s := len(h) - 1; s >= 0; s-- {
		_, g := m.encoder(h[s].Item)
		w := keep * float64(h[s].Weight) * float64(g)
		for j := range c {
			c[j] = w * m.filtered(h[s].Item, j)
		}
		each(s, c)
		keep *= float64(t.decays[s])
	}
	q := make([]float32, m.k)
	m.QueryTo(q, before, EstimatorGS)
	for j, x := range q {
		earlier[j] = keep * float64(x)
	}
}

// unrollFilter is unrollDynamics for q = x̂.
func (m *Model) unrollFilter(t *trace, before *kalman.State, h History, earlier []float64, each func(s int, c []float64)) {
	c := make([]float64, m.k)
	rest := ones(m.k)                // R_s
	measured := make([]float64, m.k) // m_s
	for s := len(h) - 1; s >= 0; s-- {
		u, g := m.encoder(h[s].Item)
		w, a := float64(h[s].Weight)*float64(g), float64(t.decays[s])
		for j, gain := range row(t.gains, s, m.k) {
			measured[j] += rest[j] * float64(gain)
			rest[j] *= 1 - float64(gain)
			c[j] = w * (rest[j]*m.filtered(h[s].Item, j) + measured[j]*float64(u[j]))
			rest[j] *= a
			measured[j] *= a
		}
		each(s, c)
	}
	for j := range earlier {
		earlier[j] = rest[j]*float64(before.X[j]) + measured[j]*float64(before.Z[j])
	}
}

// filtered is coordinate j of H u_i, or of QᵀH u_i.
func (m *Model) filtered(i int32, j int) float64 {
	t, at := m.at(i)
	if t.predictor != nil {
		return float64(t.predictor[at*m.k+j])
	}
	return float64(m.response[j]) * float64(t.basis[at*m.k+j])
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}
