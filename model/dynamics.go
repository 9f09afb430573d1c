package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model/fit"
)

// learnedDynamics are bands of memory with a learned read-out, see package dynamics.
// table.predictions has the r rows W_b e_i of each item, band by band.
type learnedDynamics struct {
	kalman.Dynamics
	readout []float32 // r×k×k, W_b

	// calibration compares two halves of the validation users by frequency, as dynamics.Noise.Pool
	// does. nil without a deviation, and in files of older programs. If it does not hold, the
	// variances are withheld: SigmaTheta is nil, and the others serve the update of states only.
	calibration []float64
}

// learnDynamics learns dynamics and takes the rank that is chosen. See package fit.
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
	m.transition = &learnedDynamics{d.Dynamics, d.Readout, d.Calibration}
	m.setPredictions(d.Predictions)
	return nil
}

// take makes the choice that of m, which has the rank of the basis before.
func (m *Model) take(c *fit.Choice, h *fit.Histories) {
	m.spec.Dynamics.Ridge = c.Ridge
	if h.Chosen != nil {
		if entries := h.Chosen(c); len(entries) > 0 {
			if m.spec.Provenance == nil {
				m.spec.Provenance = map[string]string{}
			}
			maps.Copy(m.spec.Provenance, entries)
		}
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

func (r *tensorReader) readDynamics(m *Model) {
	n, k, bands := int64(m.n), int64(m.k), int64(len(m.spec.Dynamics.Bands))
	m.setPredictions(safetensors.View[float32](r.Read("responses", dtypeF32, n, bands, k)))
	d := &learnedDynamics{
		readout: safetensors.View[float32](r.Read("readout", dtypeF32, bands, k, k)),
	}
	d.Bands = m.spec.Dynamics.Bands
	d.Mean = safetensors.View[float32](r.Read("mean", dtypeF32, k))
	m.transition = d
	if !m.spec.Dynamics.Deviation {
		return
	}
	d.P0 = safetensors.View[float32](r.Read("p0", dtypeF32, k))
	d.SigmaEta = safetensors.View[float32](r.Read("sigma_eta", dtypeF32, k))
	d.SigmaNu = safetensors.View[float32](r.Read("sigma_nu", dtypeF32, k))
	d.Drift = r.Number("drift")
	if d.calibration = r.readCalibration(); d.calibration != nil && !r.Has("sigma_theta") {
		return // withheld
	}
	d.SigmaTheta = safetensors.View[float32](r.Read("sigma_theta", dtypeF32, k))
	d.ThetaFloor = r.Number("theta_floor")
}

// readCalibration returns nil if there is none, or after an error.
func (r *tensorReader) readCalibration() []float64 {
	if !r.Has("calibration") {
		return nil
	}
	c := safetensors.View[float64](r.Read("calibration", dtypeF64, -1))
	bad := slices.ContainsFunc(c, func(x float64) bool { return !(x >= 0) })
	if r.Err == nil && (len(c) == 0 || bad) {
		r.Err = fmt.Errorf(`tensor "calibration" has %v, want numbers of 0 or more`, c)
	}
	if r.Err != nil {
		return nil
	}
	return c
}

func (d *learnedDynamics) fold(s *kalman.State, t *table, i int, e Event) {
	u, g := t.encoder(i, len(d.Mean))
	d.Update(s, t.prediction(i), u, g, e.Weight, e.Time)
}

// queryTo stores q = μ + Σ_b y_b + b for any estimator.
func (d *learnedDynamics) queryTo(q []float32, s *kalman.State, _ Estimator) { d.QueryTo(q, s) }

func (d *learnedDynamics) deviation() *kalman.Dynamics {
	if d.SigmaTheta == nil {
		return nil
	}
	return &d.Dynamics
}

// predict returns the rows W_b e_i of the items of t.
func (d *learnedDynamics) predict(t *table, _ [][]float64) []float32 {
	r, k := len(d.Bands), len(d.Mean)
	w := make([]float64, len(d.readout))
	for i, x := range d.readout {
		w[i] = float64(x)
	}
	readout := dynamics.Readout{R: r, K: k, W: w}
	predictions := make([]float32, len(t.ids)*r*k)
	readout.RowsTo(predictions, fit.EncoderRows(t.basis, t.encoderScale), k)
	return predictions
}

func (d *learnedDynamics) tensors(t *table) []tensor {
	n, r, k := int64(len(t.degrees)), int64(len(d.Bands)), int64(len(d.Mean))
	ts := []tensor{
		{"responses", dtypeF32, []int64{n, r, k}, safetensors.Bytes(t.predictions)},
		{"readout", dtypeF32, []int64{r, k, k}, safetensors.Bytes(d.readout)},
		{"mean", dtypeF32, []int64{k}, safetensors.Bytes(d.Mean)},
	}
	if !d.HasDeviation() {
		return ts
	}
	ts = append(ts,
		tensor{"p0", dtypeF32, []int64{k}, safetensors.Bytes(d.P0)},
		tensor{"sigma_eta", dtypeF32, []int64{k}, safetensors.Bytes(d.SigmaEta)},
		tensor{"sigma_nu", dtypeF32, []int64{k}, safetensors.Bytes(d.SigmaNu)},
		tensor{"drift", dtypeF64, []int64{1}, safetensors.Bytes([]float64{d.Drift})})
	if d.calibration != nil {
		ts = append(ts, tensor{
			"calibration", dtypeF64, []int64{int64(len(d.calibration))},
			safetensors.Bytes(d.calibration),
		})
	}
	if d.SigmaTheta == nil {
		return ts
	}
	return append(ts,
		tensor{"sigma_theta", dtypeF32, []int64{k}, safetensors.Bytes(d.SigmaTheta)},
		tensor{"theta_floor", dtypeF64, []int64{1}, safetensors.Bytes([]float64{d.ThetaFloor})})
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
