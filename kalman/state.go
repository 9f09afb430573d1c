package kalman

import (
	"fmt"
	"math"
	"slices"
)

// State is the estimate of one user, by a [Filter] or by [Dynamics]. It is derived: folding the
// same events into NewState gives the same bits. Float32 changes no digit of the first six of HR
// and NDCG on the reference data.
type State struct {
	X []float32 // Filter: k, x̂, the estimated spectrum. Dynamics: r·k, the bands y_1 … y_r
	// Filter: k, z = Uᵀs, the spectrum of the signal seen so far, faded by the forgetting
	Z      []float32
	B      []float32 // Dynamics: k, the deviation b; nil if there is none
	P      []float32 // k, diag P: the variance of x̂, or of b; nil if there is neither
	Events uint64    // events folded in
	Time   int64     // time of the newest event, seconds; means nothing while Events is 0

	// Recent holds the newest events, the newest one last, at most cap(Recent) of them. Their items
	// are indices of the model. It is empty and has no capacity where a model needs none.
	Recent []Recent
}

// Recent is a recent event of a state.
type Recent struct {
	Item   int32
	Weight float32
}

// renew makes s the state of a user without events. Its vectors stay where they are: see Fetch.
func (s *State) renew(p0 []float32) {
	clear(s.X)
	clear(s.Z)
	clear(s.B)
	copy(s.P, p0)
	s.Events, s.Time, s.Recent = 0, 0, s.Recent[:0]
}

// Remember adds an event to Recent, and drops the oldest one if there is no room. No allocation.
func (s *State) Remember(e Recent) {
	if cap(s.Recent) == 0 {
		return
	}
	if len(s.Recent) == cap(s.Recent) {
		copy(s.Recent, s.Recent[1:])
		s.Recent = s.Recent[:len(s.Recent)-1]
	}
	s.Recent = append(s.Recent, e)
}

// Update folds one event into s: predict, measure, correct. All of e and fe are k long:
//
//	e  = Uᵀ1_i, the item's row of the basis
//	fe = F·1_i, its prediction; H∘e for a filter diagonal in this basis (see UpdateDiagonal)
//	w  = the weight of the event, finite, |w| ≤ 1000 or so; a negative weight takes back
//	t  = its time in seconds
//
// O(k), no allocation.
func (f *Filter) Update(s *State, e, fe []float32, w float32, t int64) {
	k := f.checkLen(s, e, fe)
	a := f.DecayAt(s, t)
	a2 := float32(a * a)
	x, z, p, e, fe := s.X[:k], s.Z[:k], s.P[:k], e[:k], fe[:k]
	for j := range x {
		pred := float32(a*x[j]) + float32(w*fe[j])
		z[j] = float32(a*z[j]) + float32(w*e[j])
		x[j], p[j] = correct(pred, float32(a2*p[j])+f.SigmaEta, z[j], f.SigmaNu)
	}
	s.advance(t)
}

// UpdateDiagonal is Update for a filter F that is diagonal in the basis: fe = h∘e, where h = H(λ)
// is k long. It gives the same bits as Update with the products rounded to float32, and saves their
// memory.
func (f *Filter) UpdateDiagonal(s *State, e, h []float32, w float32, t int64) {
	k := f.checkLen(s, e, h)
	a := f.DecayAt(s, t)
	inUse.updateFilter(s.X[:k], s.Z[:k], s.P[:k], e[:k], h[:k],
		a, float32(a*a), w, f.SigmaEta, f.SigmaNu)
	s.advance(t)
}

// correct is the second half of the step for one coordinate: from the predicted mean x̄ and
// variance P̄ and the measurement z with variance σ_ν to x̂ and P. Joseph's form of P is a sum of
// two terms that are never negative, so P cannot turn negative by rounding; and one of them is
// positive: if K is 1 in float32 the second is σ_ν.
func correct(mean, variance, z, sigmaNu float32) (x, p float32) {
	k := gain(variance, sigmaNu)
	rest := 1 - k
	x = mean + float32(k*(z-mean))
	p = float32(float32(rest*rest)*variance) + float32(float32(k*k)*sigmaNu)
	return x, p
}

// gain is K for one coordinate.
func gain(variance, sigmaNu float32) float32 { return variance / (variance + sigmaNu) }

// noiseOf is Σ_ν/w, the noise of an event of weight w > 0. A weight of next to nothing measures
// nothing, but its noise stays finite: with an infinite one, K² Σ_ν would be 0·∞.
func noiseOf(sigmaNu, w float32) float32 { return min(sigmaNu/w, math.MaxFloat32) }

// Clone returns a copy that shares no memory.
func (s *State) Clone() *State {
	c := *s
	c.X, c.Z, c.B, c.P = slices.Clone(s.X), slices.Clone(s.Z), slices.Clone(s.B), slices.Clone(s.P)
	if cap(s.Recent) > 0 {
		c.Recent = append(make([]Recent, 0, cap(s.Recent)), s.Recent...)
	}
	return &c
}

// Bytes is the memory of the vectors.
func (s *State) Bytes() int {
	return 4*(cap(s.X)+cap(s.Z)+cap(s.B)+cap(s.P)) + 8*cap(s.Recent)
}

// elapsed is the time from the newest event to t in seconds: 0 without events, and if t is earlier.
func (s *State) elapsed(t int64) int64 {
	if s.Events == 0 || t <= s.Time {
		return 0
	}
	if d := t - s.Time; d > 0 {
		return d
	}
	return math.MaxInt64 // the difference does not fit
}

// advance counts the event. Time never goes back.
func (s *State) advance(t int64) {
	if s.Events == 0 || t > s.Time {
		s.Time = t
	}
	s.Events++
}

// checkLen returns k, or panics if a vector is not k long.
func (f *Filter) checkLen(s *State, e, g []float32) int {
	k := len(f.P0)
	if len(s.X) != k || len(s.Z) != k || len(s.P) != k || len(e) != k || len(g) != k {
		panic(
			fmt.Sprintf(
				"kalman: rank %d, but x̂ has length %d, z %d, P %d and the event's rows %d and %d",
				k, len(s.X), len(s.Z), len(s.P), len(e), len(g)))
	}
	return k
}
