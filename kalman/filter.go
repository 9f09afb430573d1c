package kalman

import (
	"errors"
	"fmt"
)

// The variances that Validate accepts. Within these bounds P stays positive and finite in float32 whatever the events.
const (
	MinVariance = 1e-12
	MaxVariance = 1e12
)

// Filter holds the constants shared by all users of one model. Only P0 has a length: k.
type Filter struct {
	P0       []float32 // k, prior variance of each coordinate
	SigmaEta float32   // process noise variance σ_η; paper: 1e-4
	SigmaNu  float32   // measurement noise variance σ_ν; paper: 1e-4
	Alpha    float64   // forgetting per event, in (0, 1]; 1: none, as in the paper
	HalfLife float64   // seconds in which the past fades to one half; 0: never, as in the paper
}

// Validate reports every field that is out of range, by name, in one error.
func (f *Filter) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	if len(f.P0) == 0 {
		fault("P0 is empty, want one variance for each coordinate")
	}
	for j, p := range f.P0 {
		if !isVariance(p) {
			fault("P0[%d] is %v, want a variance from %v to %v", j, p, float64(MinVariance), float64(MaxVariance))
			break // one is enough to find the cause
		}
	}
	if !isVariance(f.SigmaEta) {
		fault("SigmaEta is %v, want a variance from %v to %v", f.SigmaEta, float64(MinVariance), float64(MaxVariance))
	}
	if !isVariance(f.SigmaNu) {
		fault("SigmaNu is %v, want a variance from %v to %v", f.SigmaNu, float64(MinVariance), float64(MaxVariance))
	}
	if !(f.Alpha > 0 && f.Alpha <= 1) {
		fault("Alpha is %v, want a number above 0 and at most 1 (1: no forgetting)", f.Alpha)
	}
	if !(f.HalfLife == 0 || f.HalfLife >= minHalfLife && f.HalfLife <= maxHalfLife) {
		fault("HalfLife is %v seconds, want 0 (no forgetting) or %v to %v", f.HalfLife, float64(minHalfLife), float64(maxHalfLife))
	}
	return errors.Join(faults...)
}

// The half-lives that make sense: from a microsecond to 30 million years, in seconds.
const (
	minHalfLife = 1e-6
	maxHalfLife = 1e15
)

// isVariance is written so that NaN fails. The bounds are rounded to float32 like the values they are compared with.
func isVariance(v float32) bool { return v >= MinVariance && v <= MaxVariance }

// NewState returns the state of a user without events: x̂ = 0, z = 0, P = P_0.
func (f *Filter) NewState() *State {
	k := len(f.P0)
	buf := make([]float32, 3*k) // one block: the three are always walked together
	s := &State{X: buf[:k:k], Z: buf[k : 2*k : 2*k], P: buf[2*k:]}
	copy(s.P, f.P0)
	return s
}

// decay returns a = Alpha · 2^(−Δt/HalfLife) for an event at time t, rounded to float32.
func (f *Filter) decay(s *State, t int64) float32 {
	return float32(Band{Rho: f.Alpha, HalfLife: f.HalfLife}.Decay(s.elapsed(t)))
}
