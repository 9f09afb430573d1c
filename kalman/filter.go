package kalman

import (
	"errors"
	"fmt"

	"github.com/gsimc/gsimc/internal/fault"
)

// The variances that Validate accepts. Within these bounds P stays positive and finite in float32
// for any events.
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

// Validate returns a fault for every field that is out of range, joined in one error.
func (f *Filter) Validate() error {
	var faults []error
	if len(f.P0) == 0 {
		faults = append(faults, fault.New("P0", nil, "one variance for each coordinate"))
	}
	for j, p := range f.P0 {
		if !isVariance(p) {
			faults = append(faults, fault.New(fmt.Sprintf("P0[%d]", j), p, wantVariance))
			break // one is enough to find the cause
		}
	}
	if !isVariance(f.SigmaEta) {
		faults = append(faults, fault.New("SigmaEta", f.SigmaEta, wantVariance))
	}
	if !isVariance(f.SigmaNu) {
		faults = append(faults, fault.New("SigmaNu", f.SigmaNu, wantVariance))
	}
	if !(f.Alpha > 0 && f.Alpha <= 1) {
		faults = append(faults,
			fault.New("Alpha", f.Alpha, "a number above 0 and at most 1 (1: no forgetting)"))
	}
	if !isHalfLife(f.HalfLife) {
		faults = append(faults, fault.New("HalfLife", f.HalfLife, wantHalfLife))
	}
	return errors.Join(faults...)
}

// The half-lives that make sense: from a microsecond to 30 million years, in seconds.
const (
	minHalfLife = 1e-6
	maxHalfLife = 1e15
)

// Wanted values, as faults name them.
var (
	wantVariance = fmt.Sprintf("a variance from %v to %v", float64(MinVariance),
		float64(MaxVariance))
	wantHalfLife = fmt.Sprintf("0 (no fading by time) or %v to %v seconds",
		float64(minHalfLife), float64(maxHalfLife))
)

// isHalfLife is written so that NaN fails.
func isHalfLife(v float64) bool { return v == 0 || v >= minHalfLife && v <= maxHalfLife }

// isVariance is written so that NaN fails. The bounds are rounded to float32 like the values they
// are compared with.
func isVariance(v float32) bool { return v >= MinVariance && v <= MaxVariance }

// NewState returns the state of a user without events: x̂ = 0, z = 0, P = P_0.
func (f *Filter) NewState() *State {
	k := len(f.P0)
	buf := make([]float32, 3*k) // one block: the three are always walked together
	s := &State{X: buf[:k:k], Z: buf[k : 2*k : 2*k], P: buf[2*k:]}
	copy(s.P, f.P0)
	return s
}

// Renew makes s what NewState returns, as [Dynamics.Renew] does.
func (f *Filter) Renew(s *State) bool {
	k := len(f.P0)
	if len(s.X) != k || len(s.Z) != k || len(s.B) != 0 || len(s.P) != k {
		return false
	}
	s.renew(f.P0)
	return true
}

// DecayAt returns a = Alpha · 2^(−Δt/HalfLife), by which an event at time t would fade the past of
// s, rounded to float32.
func (f *Filter) DecayAt(s *State, t int64) float32 {
	return float32(Band{Rho: f.Alpha, HalfLife: f.HalfLife}.Decay(s.elapsed(t)))
}
