package model

import "github.com/gsimc/gsimc/kalman"

// unrolling is the work of one [Model.Explain]: the fold of a history, walked from its end.
type unrolling struct {
	m      *Model
	before *kalman.State // the state that the history was folded into
	h      History
	est    Estimator

	// The parts of the query: base and earlier, k numbers each, and c_s for each event s, which
	// goes to each. c is valid during the call only.
	base, earlier []float64
	each          func(s int, c []float64)
}

// trace holds the factors of the updates of a history.
type trace struct {
	decays []float32 // len(h) × r: a_b, or a of the filter with r = 1
	gains  []float32 // len(h) × k: K
}

// trace folds the history into a copy of before and records the factors of each update. note stores
// the r decays and k gains of the next update of s.
func (u *unrolling) trace(
	r int, note func(s *kalman.State, e Event, decays, gains []float32),
) *trace {
	k := u.m.k
	t := &trace{decays: make([]float32, len(u.h)*r), gains: make([]float32, len(u.h)*k)}
	s := u.before.Clone()
	for at, e := range u.h {
		note(s, e, row(t.decays, at, r), row(t.gains, at, k))
		u.m.Fold(s, e)
	}
	return t
}

func (d *learnedDynamics) unroll(u *unrolling) {
	k, r := len(d.Mean), len(d.Bands)
	t := u.trace(r, func(s *kalman.State, e Event, decays, gains []float32) {
		d.DecayTo(decays, s, e.Time)
		d.GainTo(gains, s, e.Weight, e.Time)
	})
	keep := ones(r)               // A_b(s→T)
	taken := make([]float64, r*k) // g_s^b
	left := ones(k)               // Π_{t>s} (1 − K_t)
	used := make([]float64, k)    // Σ_{t>s} G_t
	c, gain := make([]float64, k), make([]float64, k)
	for s := len(u.h) - 1; s >= 0; s-- {
		e := u.h[s]
		items, i := u.m.at(e.Item)
		rows := items.prediction(i)
		itemRow, g := items.encoder(i, k)
		for j, gainOf := range row(t.gains, s, k) {
			gain[j] = left[j] * float64(gainOf)
			left[j] *= 1 - float64(gainOf)
			used[j] += gain[j]
			c[j] = gain[j] * float64(g) * float64(itemRow[j])
		}
		for b, a := range row(t.decays, s, r) {
			taken := row(taken, b, k)
			for j, x := range row(rows, b, k) {
				c[j] += (keep[b] - taken[j]) * float64(e.Weight) * float64(x)
				taken[j] = gain[j] + float64(a)*taken[j]
			}
			keep[b] *= float64(a)
		}
		u.each(s, c)
	}
	for j, p := range d.popularity {
		u.base[j] = float64(p)
	}
	for j, mean := range d.Mean {
		u.base[j] += float64(mean) * (1 - used[j])
		if u.before.B != nil {
			u.earlier[j] = left[j] * float64(u.before.B[j])
		}
		for b := range r {
			u.earlier[j] += (keep[b] - taken[b*k+j]) * float64(u.before.X[b*k+j])
		}
	}
}

func (f *diagonalFilter) unroll(u *unrolling) { f.unrollBy(u, f.predicted, f.queryTo) }
func (f *rotatedFilter) unroll(u *unrolling)  { f.unrollBy(u, f.predicted, f.queryTo) }

// unrollBy is unroll of both filters. They differ in predicted, which returns coordinate j of the
// prediction of row i of t, and in queryTo.
func (f *paperFilter) unrollBy(
	u *unrolling,
	predicted func(t *table, i, j int) float64,
	queryTo func(q []float32, s *kalman.State, est Estimator),
) {
	t := u.trace(1, func(s *kalman.State, e Event, decays, gains []float32) {
		decays[0] = f.DecayAt(s, e.Time)
		f.GainTo(gains, s, e.Time)
	})
	if u.est == EstimatorGS {
		before := make([]float32, u.m.k)
		queryTo(before, u.before, EstimatorGS)
		u.unrollClosedForm(t, predicted, before)
		return
	}
	u.unrollEstimate(t, predicted)
}

// unrollClosedForm unrolls q = H z. before is the query of the state that the history was folded
// into.
func (u *unrolling) unrollClosedForm(
	t *trace, predicted func(t *table, i, j int) float64, before []float32,
) {
	c, keep := make([]float64, u.m.k), 1.0
	for s := len(u.h) - 1; s >= 0; s-- {
		items, i := u.m.at(u.h[s].Item)
		w := keep * float64(u.h[s].Weight) * float64(items.encoderScale[i])
		for j := range c {
			c[j] = w * predicted(items, i, j)
		}
		u.each(s, c)
		keep *= float64(t.decays[s])
	}
	for j, x := range before {
		u.earlier[j] = keep * float64(x)
	}
}

// unrollEstimate unrolls q = x̂.
func (u *unrolling) unrollEstimate(t *trace, predicted func(t *table, i, j int) float64) {
	k := u.m.k
	c := make([]float64, k)
	rest := ones(k)                // R_s
	measured := make([]float64, k) // m_s
	for s := len(u.h) - 1; s >= 0; s-- {
		items, i := u.m.at(u.h[s].Item)
		itemRow, g := items.encoder(i, k)
		w, a := float64(u.h[s].Weight)*float64(g), float64(t.decays[s])
		for j, gain := range row(t.gains, s, k) {
			measured[j] += rest[j] * float64(gain)
			rest[j] *= 1 - float64(gain)
			c[j] = w * (rest[j]*predicted(items, i, j) + measured[j]*float64(itemRow[j]))
			rest[j] *= a
			measured[j] *= a
		}
		u.each(s, c)
	}
	for j := range u.earlier {
		u.earlier[j] = rest[j]*float64(u.before.X[j]) + measured[j]*float64(u.before.Z[j])
	}
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}
