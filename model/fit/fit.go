// Package fit learns the constants of a model from histories: the read-out of learned dynamics with
// its rank, its bands and its ridge, the noise, and the prior of the paper's filter. It works on
// the rows of a basis, before there is a model.
package fit

import (
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model/local"
)

// Items are n items with their rows in a basis of rank k. Matrices are row-major.
type Items struct {
	N, K                       int
	Basis                      []float32 // n×k
	EncoderScale, DecoderScale []float32 // n
	Degrees                    []int64   // n, training users
}

// encoder returns the encoder row of item i in the first k columns, as a row and a factor.
func (x *Items) encoder(i int32, k int) (u []float32, g float32) {
	return row(x.Basis, int(i), x.K)[:k], x.EncoderScale[i]
}

// EncoderRows returns the encoder rows of all items: the rows of the basis times the scales.
func EncoderRows(basis, scale []float32) []float32 {
	e, k := slices.Clone(basis), len(basis)/len(scale)
	for i, g := range scale {
		for j := range k {
			e[i*k+j] *= g
		}
	}
	return e
}

// row returns row i of a row-major matrix with k columns.
func row[T any](a []T, i, k int) []T { return a[i*k : (i+1)*k : (i+1)*k] }

// Spec holds the choices of learned dynamics. The fields are those of model.DynamicsSpec and of
// model.Spec.
type Spec struct {
	Bands     []kalman.Band
	Ridge     float64
	Positions int64
	Deviation bool
	Local     local.Spec
}

// Learned are dynamics that [Learn] has found, of rank k = len(Mean).
type Learned struct {
	kalman.Dynamics
	Readout     []float32 // r×k×k, W_b
	Predictions []float32 // n×r×k, the rows W_b e_i

	// Calibration compares two halves of the validation users by frequency, as dynamics.Noise.Pool
	// does. nil without a deviation. If it does not hold, the variances are withheld: SigmaTheta is
	// nil, and the others serve the update of states only.
	Calibration []float64

	Choice *Choice // nil: the rank is that of the basis, the rest is that of the Spec
}

// Learn identifies dynamics: the read-out of the bands from the training users; the rank, the
// ridge, the number of bands and the noise of the deviation from the validation users. See package
// dynamics.
func Learn(x *Items, spec *Spec, h *Histories) (*Learned, error) {
	if err := h.checkSums(); err != nil {
		return nil, err
	}
	e := EncoderRows(x.Basis, x.EncoderScale)
	normal, err := h.normal(x, spec, e)
	if err != nil {
		return nil, err
	}
	readout, choice, err := solve(x, spec, normal, e, h)
	if err != nil {
		return nil, err
	}
	d := &Learned{
		Dynamics: kalman.Dynamics{
			Bands: slices.Clone(spec.Bands[:readout.R]), Mean: gemm.ToFloat32(readout.Mean),
		},
		Readout:     gemm.ToFloat32(readout.W),
		Predictions: make([]float32, x.N*readout.R*readout.K),
		Choice:      choice,
	}
	readout.RowsTo(d.Predictions, e, x.K)
	if !spec.Deviation {
		return d, nil
	}
	return d, d.learnDeviation(x, h)
}

// learnDeviation learns the noise of the deviation and the variance of tastes. It withholds the
// latter if two halves of the users do not agree on the noise.
func (d *Learned) learnDeviation(x *Items, h *Histories) error {
	sequences := h.Validation
	if len(sequences) < FewSequences {
		sequences = slices.Clone(sequences)
		for events := range h.Train {
			sequences = append(sequences, slices.Clone(events))
		}
	}
	bands, k := &d.Dynamics, len(d.Mean)
	rows := func(i int32) []float32 { return row(d.Predictions, int(i), len(d.Bands)*k) }
	encoder := func(i int32) ([]float32, float32) { return x.encoder(i, k) }
	tell := h.stage(StageNoise)
	if tell != nil {
		tell(0, 0)
	}
	noise, err := dynamics.LearnNoise(bands, rows, encoder, sequences, tell)
	if err != nil {
		return err
	}
	spread := dynamics.NewSpread(k, encoder, x.Degrees)
	halves, err := noise.Pool(bands, rows, encoder, sequences, spread)
	if err != nil {
		return err
	}
	d.Calibration = halves.Bands
	d.P0, d.SigmaEta, d.SigmaNu, d.Drift = noise.P0, noise.SigmaEta, noise.SigmaNu, noise.Drift
	if !halves.Holds() {
		return nil
	}
	taste, err := dynamics.LearnTaste(bands, rows, encoder, sequences)
	if err != nil {
		return err
	}
	d.SigmaTheta, d.ThetaFloor = taste.SigmaTheta, taste.Floor
	return nil
}
