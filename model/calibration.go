package model

import (
	"errors"
	"slices"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman/dynamics"
)

// ScoreError is the error of one score, as the model expects it and as two events show it.
type ScoreError struct {
	Variance float64 // Var ŷ_i, the square of what DeviationsTo reports
	Product  float64 // its mean over users is the square of the error; a single one may be negative
}

// ScoreErrors walks along h and calls add with the errors of the scores of some items by the query
// before event t, for each t that is not the last. items returns these items. The noises of event t
// and the next are independent while both are of one taste, so with the query q and the decoder row
// v of an item, the expectation of
//
//	Product = v·(e_t − q)  v·(e_{t+1} − q)
//
// is the square of v·(θ − q), the error of the score by the expectation alone. The slice that add
// gets is reused. It is an error if the model has no variances. O(k) for each event and item.
func (m *Model) ScoreErrors(
	h History, items func(t int) []int32, add func(t int, errors []ScoreError),
) error {
	if !m.HasVariance() {
		return errNoDeviation
	}
	state := m.NewState()
	query, variance := make([]float32, m.k), make([]float32, m.k)
	now, then := make([]float32, m.k), make([]float32, m.k)
	var scored []ranking.Scored
	var deviations []float32
	var errors []ScoreError
	for t := 0; t+1 < len(h); t++ {
		m.deviation.QueryTo(query, state)
		m.VarianceTo(variance, state, h[t].Time)
		m.beyondTo(now, query, h[t].Item)
		m.beyondTo(then, query, h[t+1].Item)
		scored, errors = scored[:0], errors[:0]
		for _, i := range items(t) {
			scored = append(scored, ranking.Scored{Item: i})
		}
		deviations = slices.Grow(deviations[:0], len(scored))[:len(scored)]
		m.DeviationsTo(deviations, scored, variance)
		for j, s := range scored {
			v, g := m.decoder(s.Item)
			errors = append(errors, ScoreError{
				Variance: float64(deviations[j]) * float64(deviations[j]),
				Product:  float64(g*vec.Dot(v, now)) * float64(g*vec.Dot(v, then)),
			})
		}
		add(t, errors)
		m.Fold(state, h[t])
	}
	return nil
}

// beyondTo stores e_i − q in dst.
func (m *Model) beyondTo(dst, q []float32, i int32) {
	u, g := m.encoder(i)
	for l, x := range u {
		dst[l] = float32(g*x) - q[l]
	}
}

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
