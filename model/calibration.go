package model

import (
	"errors"

	"github.com/gsimc/gsimc/kalman/dynamics"
)

var errNoDeviation = errors.New("the model has no variances: it tracks no deviations, or " +
	"training withheld them")

// Calibration compares the innovations in the histories with the model's covariances for them. It
// is an error if the model has no variances.
func (m *Model) Calibration(histories []History) (*dynamics.Calibration, error) {
	d := m.transition.deviation()
	if d == nil {
		return nil, errNoDeviation
	}
	return dynamics.Innovations(d, m.prediction, m.encoder, histories)
}

// TasteEvidence compares the errors of queries with the model's variances for them, by the number
// of events before the query. It is an error if the model has no variances.
func (m *Model) TasteEvidence(histories []History) ([]dynamics.Evidence, error) {
	d := m.transition.deviation()
	if d == nil {
		return nil, errNoDeviation
	}
	return dynamics.TasteEvidence(d, m.prediction, m.encoder, histories)
}
