package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/internal/sealed"
)

// learnedDynamics are bands of memory with a learned read-out, see package dynamics.
// table.predictions has the r rows W_b e_i of each item, band by band.
type learnedDynamics struct {
	kalman.Dynamics
	readout    []float32 // r×k×k, W_b
	popularity []float32 // k, ω h; nil: none, or not yet chosen

	// calibration compares two halves of the validation users by frequency, as dynamics.Noise.Pool
	// does. nil without a deviation, and in files of older programs. If it does not hold, the
	// variances are withheld: SigmaTheta is nil, and the others serve the update of states only.
	calibration []float64
}

// learnDynamics learns dynamics and takes the constants that are chosen. See package fit.
func (m *Model) learnDynamics(h *fit.Histories) error {
	if err := m.check(); err != nil { // fail before the long computation
		return err
	}
	spec := &m.spec.Dynamics
	d, err := fit.Learn(m.items(), &fit.Spec{
		Bands: spec.Bands, Ridge: spec.Ridge, Positions: spec.Positions, Deviation: spec.Deviation,
		Local: m.spec.Local,
	}, h)
	if err != nil {
		return err
	}
	if d.Choice != nil {
		m.take(d.Choice, h)
	}
	m.transition = &learnedDynamics{d.Dynamics, d.Readout, nil, d.Calibration}
	m.setPredictions(d.Predictions)
	return nil
}

// take makes the choice that of m, which has the rank of the basis before.
func (m *Model) take(c *fit.Choice, h *fit.Histories) {
	d := &m.spec.Dynamics
	d.Ridge, d.Bands = c.Ridge, d.Bands[:c.Bands]
	if h.Chosen != nil {
		if m.spec.Provenance == nil {
			m.spec.Provenance = map[string]string{}
		}
		maps.Copy(m.spec.Provenance, h.Chosen(c))
	}
	m.truncate(c.Rank)
}

// truncate keeps the first k columns of the basis.
func (m *Model) truncate(k int) {
	if k == m.k {
		return
	}
	basis := make([]float32, m.n*k)
	for i := range m.n {
		copy(basis[i*k:(i+1)*k], m.basis[i*m.k:])
	}
	m.basis, m.kappa, m.lambda, m.response = basis, m.kappa[:k], m.lambda[:k], m.response[:k]
	m.k = k
}

func (m *Model) readDynamics(r *safetensors.Reader) {
	n, k, bands := int64(m.n), int64(m.k), int64(len(m.spec.Dynamics.Bands))
	m.setPredictions(safetensors.Array[float32](r, "responses", n, bands, k))
	d := &learnedDynamics{
		readout: safetensors.Array[float32](r, "readout", bands, k, k),
	}
	d.Bands = m.spec.Dynamics.Bands
	d.Mean = safetensors.Array[float32](r, "mean", k)
	if m.spec.Dynamics.Popularity > 0 {
		d.popularity = safetensors.Array[float32](r, "popularity", k)
	}
	m.transition = d
	if !m.spec.Dynamics.Deviation {
		return
	}
	d.P0 = safetensors.Array[float32](r, "p0", k)
	d.SigmaEta = safetensors.Array[float32](r, "sigma_eta", k)
	d.SigmaNu = safetensors.Array[float32](r, "sigma_nu", k)
	d.Drift = r.Number("drift")
	if d.calibration = readCalibration(r); d.calibration != nil && !r.Has("sigma_theta") {
		return // withheld
	}
	d.SigmaTheta = safetensors.Array[float32](r, "sigma_theta", k)
	d.ThetaFloor = r.Number("theta_floor")
}

// readCalibration returns nil if there is none, or after an error.
func readCalibration(r *safetensors.Reader) []float64 {
	if !r.Has("calibration") {
		return nil
	}
	c := safetensors.Array[float64](r, "calibration", -1)
	bad := slices.ContainsFunc(c, func(x float64) bool { return !(x >= 0) })
	if r.Err == nil && (len(c) == 0 || bad) {
		r.Err = fmt.Errorf(`tensor "calibration" has %v, want numbers of 0 or more`, c)
	}
	if r.Err != nil {
		return nil
	}
	return c
}

// Gains tells what the read-out of m makes of each frequency. nil without learned dynamics.
func (m *Model) Gains() *dynamics.Gains {
	d, ok := m.transition.(*learnedDynamics)
	if !ok {
		return nil
	}
	return dynamics.GainsOf(d.readout, len(d.Bands), m.k)
}

func (d *learnedDynamics) fold(s *kalman.State, t *table, i int, e Event) {
	u, g := t.encoder(i, len(d.Mean))
	d.Update(s, t.prediction(i), u, g, e.Weight, e.Time)
}

// queryTo stores q = μ + Σ_b y_b + b + ω h for any estimator.
func (d *learnedDynamics) queryTo(q []float32, s *kalman.State, _ Estimator) {
	d.Dynamics.QueryTo(q, s)
	for j, p := range d.popularity {
		q[j] += p
	}
}

func (d *learnedDynamics) deviation() *kalman.Dynamics {
	if d.SigmaTheta == nil {
		return nil
	}
	return &d.Dynamics
}

// predict returns the rows W_b e_i of the items of t.
func (d *learnedDynamics) predict(t *table, _ [][]float64) []float32 {
	r, k := len(d.Bands), len(d.Mean)
	predictions := make([]float32, len(t.ids)*r*k)
	dynamics.RowsTo(predictions, fit.EncoderRows(t.basis, t.encoderScale), k, d.readout, r, k)
	return predictions
}

func (d *learnedDynamics) tensors(t *table) []sealed.Tensor {
	n, r, k := int64(len(t.degrees)), int64(len(d.Bands)), int64(len(d.Mean))
	ts := []sealed.Tensor{
		sealed.Numbers("responses", t.predictions, n, r, k),
		sealed.Numbers("readout", d.readout, r, k, k),
		sealed.Numbers("mean", d.Mean, k),
	}
	if d.popularity != nil {
		ts = append(ts, sealed.Numbers("popularity", d.popularity, k))
	}
	if !d.HasDeviation() {
		return ts
	}
	ts = append(ts,
		sealed.Numbers("p0", d.P0, k),
		sealed.Numbers("sigma_eta", d.SigmaEta, k),
		sealed.Numbers("sigma_nu", d.SigmaNu, k),
		sealed.Numbers("drift", []float64{d.Drift}, 1))
	if d.calibration != nil {
		ts = append(ts, sealed.Numbers("calibration", d.calibration))
	}
	if d.SigmaTheta == nil {
		return ts
	}
	return append(ts,
		sealed.Numbers("sigma_theta", d.SigmaTheta, k),
		sealed.Numbers("theta_floor", []float64{d.ThetaFloor}, 1))
}

func (d *learnedDynamics) describe(out *Description) {
	if !d.HasDeviation() {
		return
	}
	out.Prior = newRange(d.P0)
	out.Deviation = &Deviation{
		ProcessNoise: newRange(d.SigmaEta), MeasurementNoise: newRange(d.SigmaNu), Drift: d.Drift,
		Taste: newRange(d.SigmaTheta), TasteFloor: d.ThetaFloor,
		Calibration: d.calibration, Withheld: d.SigmaTheta == nil,
	}
}
