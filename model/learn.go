package model

import (
	"errors"
	"iter"

	"github.com/gsimc/gsimc/dynamics"
)

// Histories are what a model learns from besides the basis. Item indices are below the number of
// items.
type Histories struct {
	// Train yields those of the users that made the basis, the same in every pass; nil: none. They
	// are read one at a time, since together they can be larger than everything else, and with
	// learned dynamics or few validation users only.
	Train      iter.Seq[History]
	Validation []History // of users that did not: for P_0 and the noise

	// Progress, if set, is told how much of each stage of learning dynamics is done, from several
	// goroutines.
	Progress func(stage string, done, total int)
}

// progress is Progress for one stage.
func (h *Histories) progress(stage string) func(done, total int) {
	if h.Progress == nil {
		return nil
	}
	return func(done, total int) { h.Progress(stage, done, total) }
}

// The stages that Histories.Progress is told.
const (
	StageLearn = "learning dynamics" // sums over the events
	StageFit   = "fitting dynamics"  // the regression and its read-out
	StageNoise = "learning noise"
)

// fewSequences is the number of validation users below which the noise is learned from the training
// users as well. Their innovations are a little too small, since the read-out was fitted to them.
const fewSequences = 20

var errNoDeviation = errors.New("the model tracks no deviations, so it has no variances")

// Calibration returns how the innovations of users compare with what the model's covariances expect
// of them. The model must track deviations.
func (m *Model) Calibration(histories []History) (*dynamics.Calibration, error) {
	d := m.transition.deviation()
	if d == nil {
		return nil, errNoDeviation
	}
	return dynamics.Innovations(d, m.prediction, m.encoder, histories)
}

// TasteEvidence returns how the errors of queries compare with the variances that the model gives
// them, by the number of events before. The model must track deviations.
func (m *Model) TasteEvidence(histories []History) ([]dynamics.Evidence, error) {
	d := m.transition.deviation()
	if d == nil {
		return nil, errNoDeviation
	}
	return dynamics.TasteEvidence(d, m.prediction, m.encoder, histories)
}
