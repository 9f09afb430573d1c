package model

import (
	"errors"
	"iter"
	"slices"

	"github.com/gsimc/gsimc/dynamics"
	"github.com/gsimc/gsimc/internal/gemm"
	"github.com/gsimc/gsimc/kalman"
)

// Histories are what a model learns from besides the basis. Item indices are below the number of items.
type Histories struct {
	// Train yields those of the users that made the basis, the same in every pass; nil: none. They are read one at a time,
	// since together they can be larger than everything else, and with learned dynamics or few validation users only.
	Train      iter.Seq[History]
	Validation []History // of users that did not: for P_0 and the noise

	// Progress, if set, is told how much of each stage of learning dynamics is done, from several goroutines.
	Progress func(stage string, done, total int)
}

// progress is Progress for one stage.
func (h *Histories) progress(stage string) func(done, total int) {
	if h.Progress == nil {
		return nil
	}
	return func(done, total int) { h.Progress(stage, done, total) }
}

// fewSequences is the number of validation users below which the noise is learned from the training users as well. Their
// innovations are a little too small, since the read-out was fitted to them.
const fewSequences = 20

// learn identifies the dynamics: the read-out of the bands from the training users, the noise of the deviation from the
// validation users. See package dynamics.
func (m *Model) learn(h Histories) error {
	spec := &m.spec.Dynamics
	moments, err := dynamics.NewMoments(m.n, h.Train, dynamics.Options{Bands: spec.Bands, Positions: int(spec.Positions)})
	if err != nil {
		return err
	}
	e := m.encoderRows()
	readout, err := moments.Project(e, m.k, h.progress("learning dynamics")).Solve(spec.Ridge)
	if err != nil {
		return err
	}
	m.readout = gemm.ToFloat32(readout.W)
	m.responses = make([]float32, m.n*readout.R*m.k)
	readout.RowsTo(m.responses, e, m.k)
	m.dynamics = &kalman.Dynamics{Bands: slices.Clone(spec.Bands), Mean: gemm.ToFloat32(readout.Mean)}
	if !spec.Deviation {
		return nil
	}
	sequences := h.Validation
	if len(sequences) < fewSequences {
		sequences = slices.AppendSeq(slices.Clone(sequences), h.Train)
	}
	noise, err := dynamics.LearnNoise(m.dynamics, m.responseRows, m.encoder, sequences, h.progress("learning noise"))
	if err != nil {
		return err
	}
	m.dynamics.P0, m.dynamics.SigmaEta, m.dynamics.SigmaNu, m.dynamics.Drift = noise.P0, noise.SigmaEta, noise.SigmaNu, noise.Drift
	taste, err := dynamics.LearnTaste(m.dynamics, m.responseRows, m.encoder, sequences)
	if err != nil {
		return err
	}
	m.dynamics.SigmaTheta, m.dynamics.ThetaFloor = taste.SigmaTheta, taste.Floor
	return nil
}

// Calibration returns how the innovations of users compare with what the model's covariances expect of them. The model must
// track deviations.
func (m *Model) Calibration(histories []History) (*dynamics.Calibration, error) {
	if !m.HasVariance() {
		return nil, errors.New("the model tracks no deviations, so it expects nothing of innovations")
	}
	return dynamics.Innovations(m.dynamics, m.responseRows, m.encoder, histories)
}

// TasteEvidence returns how the errors of queries compare with the variances that the model gives them, by the number of
// events before. The model must track deviations.
func (m *Model) TasteEvidence(histories []History) ([]dynamics.Evidence, error) {
	if !m.HasVariance() {
		return nil, errors.New("the model tracks no deviations, so it gives queries no variances")
	}
	return dynamics.TasteEvidence(m.dynamics, m.responseRows, m.encoder, histories)
}

// encoderRows returns the n×k encoder rows e_i = d_i^{−t/2} u_i.
func (m *Model) encoderRows() []float32 {
	e := slices.Clone(m.basis)
	for i, g := range m.encoderScale {
		for j := range m.k {
			e[i*m.k+j] *= g
		}
	}
	return e
}

// responseRows returns the r·k numbers W_b e_i, band by band.
func (m *Model) responseRows(i int32) []float32 {
	t, at := m.at(i)
	return row(t.responses, at, m.numBands()*m.k)
}

// encoder returns e_i as a row and a factor.
func (m *Model) encoder(i int32) (u []float32, g float32) {
	t, at := m.at(i)
	return row(t.basis, at, m.k), t.encoderScale[at]
}

// decoder returns v_i = d_i^{t/2} u_i as a row and a factor.
func (m *Model) decoder(i int32) (u []float32, g float32) {
	t, at := m.at(i)
	return row(t.basis, at, m.k), t.decoderScale[at]
}

func (m *Model) numBands() int { return len(m.spec.Dynamics.Bands) }
