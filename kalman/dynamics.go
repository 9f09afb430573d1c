package kalman

import (
	"errors"
	"fmt"

	"github.com/gsimc/gsimc/internal/fault"
)

// Band is one memory of the past. Before an event its contents fade by a = Rho·2^(−Δt/HalfLife).
type Band struct {
	Rho      float64 // per event, in [0, 1]; 0: the last event alone
	HalfLife float64 // seconds; 0: no fading by time
}

// Decay returns a for an event that comes dt seconds after the newest one before it; dt ≤ 0 counts
// as 0.
func (b Band) Decay(dt int64) float64 {
	if b.HalfLife == 0 || dt <= 0 {
		return b.Rho
	}
	return float64(b.Rho * exp2Neg(float64(dt)/b.HalfLife))
}

// Dynamics holds the constants of learned dynamics, shared by all users of one model. There are r
// bands of rank k.
//
//	y_b ← a_b y_b + w·W_b e_i         each band, read out: y_b = W_b x_b
//	q   = μ + Σ_b y_b + b             the expected spectrum of the next event
//
// The deviation b of a user from the expectation of the bands is a random walk. A Kalman filter
// tracks it; its measurement is the innovation of each event, before the event enters the bands:
//
//	ν = e_i − q          P̄ = P + Σ_η (1 + Drift·Δt)          K = P̄ (P̄ + Σ_ν/w)⁻¹
//	b ← b + K ν          P = (I−K) P̄ (I−K)ᵀ + K (Σ_ν/w) Kᵀ
//
// All covariances are diagonal. The first event meets P̄ = P_0. An event without positive weight
// moves the bands only.
//
// GS-IMC is the special case of one band with Rho = α, W = H(Λ), μ = 0 and no deviation.
type Dynamics struct {
	Bands []Band    // r
	Mean  []float32 // k, μ

	// The deviation, k variances each; all nil: there is none.
	P0       []float32 // prior of b
	SigmaEta []float32 // Σ_η, process noise per event
	SigmaNu  []float32 // Σ_ν, measurement noise
	Drift    float64   // further process noise per second, in units of Σ_η

	// SigmaTheta and ThetaFloor describe the taste of a user before the bands have learned it. They
	// are a part of the uncertainty (see UncertaintyTo), but not of K: the bands will learn the
	// taste.
	SigmaTheta []float32 // k, Σ_θ, variance of the tastes of new users around μ; nil: not known
	ThetaFloor float64   // share of it that no evidence removes, 0 to 1
}

// HasDeviation tells whether there is a deviation to track.
func (d *Dynamics) HasDeviation() bool { return d.P0 != nil }

// Validate returns a fault for every field that is out of range, joined in one error.
func (d *Dynamics) Validate() error {
	faults := []error{ValidateBands(d.Bands)}
	for j, x := range d.Mean {
		if x-x != 0 {
			faults = append(faults, fault.New(fmt.Sprintf("Mean[%d]", j), x, "a finite number"))
			break
		}
	}
	for _, v := range []struct {
		name   string
		values []float32
	}{{"P0", d.P0}, {"SigmaEta", d.SigmaEta}, {"SigmaNu", d.SigmaNu}} {
		if len(v.values) != 0 && len(v.values) != len(d.Mean) || len(v.values) != len(d.P0) {
			faults = append(faults, &fault.Fault{
				Field: v.name, Problem: fmt.Sprintf("has %d variances", len(v.values)),
				Want: fmt.Sprintf("%d, or none of all three", len(d.Mean)),
			})
		}
		for j, x := range v.values {
			if !isVariance(x) {
				faults = append(faults,
					fault.New(fmt.Sprintf("%s[%d]", v.name, j), x, wantVariance))
				break
			}
		}
	}
	faults = append(faults, d.validateTheta()...)
	if !(d.Drift >= 0 && d.Drift <= MaxVariance) {
		faults = append(faults,
			fault.New("Drift", d.Drift, fmt.Sprintf("0 to %v", float64(MaxVariance))))
	}
	return errors.Join(faults...)
}

// validateTheta returns the faults of the variances of the tastes of new users.
func (d *Dynamics) validateTheta() (faults []error) {
	if len(d.SigmaTheta) != 0 && len(d.SigmaTheta) != len(d.P0) {
		faults = append(faults, &fault.Fault{
			Field: "SigmaTheta", Problem: fmt.Sprintf("has %d variances", len(d.SigmaTheta)),
			Want: fmt.Sprintf("one for each of the %d of P0, or none", len(d.P0)),
		})
	}
	for j, x := range d.SigmaTheta {
		if !(x >= 0 && x <= MaxVariance) {
			faults = append(faults, fault.New(fmt.Sprintf("SigmaTheta[%d]", j), x,
				fmt.Sprintf("a variance from 0 to %v", float64(MaxVariance))))
			break
		}
	}
	if !(d.ThetaFloor >= 0 && d.ThetaFloor <= 1) {
		faults = append(faults, fault.New("ThetaFloor", d.ThetaFloor, "0 to 1"))
	}
	return faults
}

// MaxBands is the largest number of bands.
const MaxBands = 16

// ValidateBands returns a fault of Bands if there are none or more than MaxBands, and the fault of
// each band that is out of range, joined in one error.
func ValidateBands(bands []Band) error {
	var faults []error
	if len(bands) == 0 || len(bands) > MaxBands {
		faults = append(faults, &fault.Fault{
			Field: "Bands", Problem: fmt.Sprintf("there are %d", len(bands)),
			Want: fmt.Sprintf("1 to %d", MaxBands),
		})
	}
	for b, band := range bands {
		faults = append(faults, fault.In(fmt.Sprintf("Bands[%d]", b), band.Validate()))
	}
	return errors.Join(faults...)
}

// Validate returns the fault of the first constant that is out of range.
func (b Band) Validate() error {
	if !(b.Rho >= 0 && b.Rho <= 1) {
		return fault.New("Rho", b.Rho, "0 to 1")
	}
	if !isHalfLife(b.HalfLife) {
		return fault.New("HalfLife", b.HalfLife, wantHalfLife)
	}
	return nil
}

// NewState returns the state of a user without events: nothing in the bands, b = 0, P = P_0.
func (d *Dynamics) NewState() *State {
	k, r := len(d.Mean), len(d.Bands)
	if !d.HasDeviation() {
		return &State{X: make([]float32, r*k)}
	}
	buf := make([]float32, (r+2)*k) // one block: all are walked together
	s := &State{X: buf[: r*k : r*k], B: buf[r*k : (r+1)*k : (r+1)*k], P: buf[(r+1)*k:]}
	copy(s.P, d.P0)
	return s
}

// Renew makes s, which may be of another user or model, what NewState returns. It leaves s as it is
// and returns false if that is of another shape. No allocation.
func (d *Dynamics) Renew(s *State) bool {
	if len(s.X) != len(d.Bands)*len(d.Mean) || len(s.Z) != 0 ||
		len(s.B) != len(d.P0) || len(s.P) != len(d.P0) {
		return false
	}
	s.renew(d.P0)
	return true
}

// Update folds one event into s:
//
//	rows  = r·k, row b is W_b e_i
//	u, g  = k numbers and a factor: e_i = g·u
//	w     = the weight of the event, finite; a negative weight takes back
//	t     = its time in seconds
//
// O(r·k), no allocation.
func (d *Dynamics) Update(s *State, rows, u []float32, g, w float32, t int64) {
	k, r := len(d.Mean), len(d.Bands)
	if len(s.X) != r*k || len(rows) != r*k || len(u) != k ||
		len(s.B) != len(d.P0) || len(s.P) != len(d.P0) {
		panic(fmt.Sprintf("kalman: %d bands of rank %d, but bands of length %d, deviation %d, "+
			"P %d and the event's rows %d and %d",
			r, k, len(s.X), len(s.B), len(s.P), len(rows), len(u)))
	}
	if d.HasDeviation() && w > 0 {
		inUse.updateDeviation(s.B, s.P, d.Mean, d.SigmaEta, d.SigmaNu, u, s.X, d.growth(s, t), g, w)
	}
	dt := s.elapsed(t)
	for b, band := range d.Bands {
		a := float32(band.Decay(dt))
		inUse.updateBand(s.X[b*k:(b+1)*k], rows[b*k:(b+1)*k], a, w)
	}
	s.advance(t)
}

// growth is the process noise before an event at time t, in units of Σ_η: none before the first
// event.
func (d *Dynamics) growth(s *State, t int64) float32 {
	if s.Events == 0 {
		return 0
	}
	return float32(1 + float64(d.Drift*float64(s.elapsed(t))))
}

// QueryTo stores q = μ + Σ_b y_b + b in dst, k long. O(r·k).
func (d *Dynamics) QueryTo(dst []float32, s *State) {
	k := len(d.Mean)
	copy(dst, d.Mean)
	for b := range d.Bands {
		for j, y := range s.X[b*k : (b+1)*k] {
			dst[j] += y
		}
	}
	for j, b := range s.B {
		dst[j] += b
	}
}

// VarianceTo stores in dst, k long, the variance of the deviation for an event at time now: P̄,
// which grows with the time since the newest event. There must be a deviation. O(k).
func (d *Dynamics) VarianceTo(dst []float32, s *State, now int64) {
	growth := d.growth(s, now)
	for j, p := range s.P {
		dst[j] = p + float32(growth*d.SigmaEta[j])
	}
}

// UncertaintyTo stores in dst, k long, the variance of q around the user's taste at time now:
//
//	V = Σ_θ ∘ (ThetaFloor + (1 − ThetaFloor) / (1 + N Σ_θ/Σ_ν)) + Σ_η Drift Δt
//
// for a user with N events, the newest of them Δt seconds ago. The first part is the posterior
// variance of a constant taste after N measurements, which evidence makes smaller, with a floor for
// tastes that move. The second part is the process noise since the newest event. P is not part of
// V: it is the error of the deviation, a small part of the taste, and begins near 0, because the
// bands take most of the taste up. There must be a deviation. O(k).
func (d *Dynamics) UncertaintyTo(dst []float32, s *State, now int64) {
	moved := float32(d.Drift * float64(s.elapsed(now)))
	for j, eta := range d.SigmaEta {
		dst[j] = float32(moved * eta)
	}
	floor, events := float32(d.ThetaFloor), float32(s.Events)
	for j, theta := range d.SigmaTheta {
		known := 1 + float32(events*theta)/d.SigmaNu[j]
		dst[j] += float32(theta * (floor + (1-floor)/known))
	}
}
