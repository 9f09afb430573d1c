package model

import (
	"fmt"
	"slices"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
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

// learnDynamics identifies the dynamics: the read-out of the bands from the training users, the
// rank, the ridge and the noise of the deviation from the validation users. See package dynamics.
func (m *Model) learnDynamics(h *Histories) error {
	if err := m.check(); err != nil { // fail before the long computation
		return err
	}
	if err := h.checkSums(); err != nil {
		return err
	}
	spec, k := &m.spec.Dynamics, m.k
	e := m.encoderRows(k)
	normal, err := m.normal(e, h)
	if err != nil {
		return err
	}
	readout, choice, err := m.solve(normal, e, h)
	if err != nil {
		return err
	}
	if choice != nil {
		m.take(choice, h)
	}
	d := &learnedDynamics{
		Dynamics: kalman.Dynamics{
			Bands: slices.Clone(spec.Bands), Mean: gemm.ToFloat32(readout.Mean),
		},
		readout: gemm.ToFloat32(readout.W),
	}
	predictions := make([]float32, m.n*readout.R*m.k)
	readout.RowsTo(predictions, e, k)
	m.transition = d
	m.setPredictions(predictions)
	if !spec.Deviation {
		return nil
	}
	return m.learnDeviation(d, h)
}

// normal returns the sums of the regression over the training users, for the encoder rows e.
func (m *Model) normal(e []float32, h *Histories) (*dynamics.Normal, error) {
	spec := &m.spec.Dynamics
	if h.Sums != nil {
		if x := h.Sums.Normal; x.R != len(spec.Bands) || x.K != m.k {
			panic(fmt.Sprintf("model: sums of %d bands and rank %d for %d and %d", x.R, x.K,
				len(spec.Bands), m.k))
		}
		return h.Sums.Normal, nil
	}
	moments, err := dynamics.NewMoments(m.n, h.Train, dynamics.Options{
		Bands: spec.Bands, Positions: int(spec.Positions),
	})
	if err != nil {
		return nil, err
	}
	return moments.Project(e, m.k, h.progress(StageLearn)), nil
}

// learnDeviation learns the noise of the deviation and the variance of tastes, and stores them in
// d. It withholds the latter if two halves of the users do not agree on the noise.
func (m *Model) learnDeviation(d *learnedDynamics, h *Histories) error {
	sequences := h.Validation
	if len(sequences) < FewSequences {
		sequences = slices.AppendSeq(slices.Clone(sequences), h.Train)
	}
	bands := &d.Dynamics
	noise, err := dynamics.LearnNoise(
		bands, m.prediction, m.encoder, sequences, h.progress(StageNoise))
	if err != nil {
		return err
	}
	spread := dynamics.NewSpread(m.k, m.encoder, m.degrees)
	halves, err := noise.Pool(bands, m.prediction, m.encoder, sequences, spread)
	if err != nil {
		return err
	}
	d.calibration = halves.Bands
	d.P0, d.SigmaEta, d.SigmaNu, d.Drift = noise.P0, noise.SigmaEta, noise.SigmaNu, noise.Drift
	if !halves.Holds() {
		return nil
	}
	taste, err := dynamics.LearnTaste(bands, m.prediction, m.encoder, sequences)
	if err != nil {
		return err
	}
	d.SigmaTheta, d.ThetaFloor = taste.SigmaTheta, taste.Floor
	return nil
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
	readout.RowsTo(predictions, t.encoderRows(k), k)
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
