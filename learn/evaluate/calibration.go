package evaluate

import (
	"github.com/gsimc/gsimc/model"
)

// Calibration says whether the variances of learned dynamics are right for the
// test users. All ratios are 1 if they are.
type Calibration struct {
	// Withheld: training found the variances wrong and kept them from the model (see
	// model.Deviation). The other fields are then zero.
	Withheld bool `json:"withheld,omitempty"`

	Events int `json:"events"`
	// Overall is the normalised innovation squared, the mean of ν²/(P̄ + Σ_ν),
	// and Bands the same over 8 equal ranges of frequencies, low ones first.
	Overall float64   `json:"innovations"`
	Bands   []float64 `json:"innovations_by_frequency"`
	// Query is the square of the error of the queries over the variance that answers report for
	// them (see dynamics.LearnTaste), and Evidence the two apart by the number of events before.
	Query    float64    `json:"query"`
	Evidence []Evidence `json:"query_by_events"`

	Reliability *Reliability `json:"reliability,omitempty"`
}

// Evidence compares the error of queries with their variance, both summed over the coordinates. The
// error is a mean of products, which noise makes negative where there are few pairs.
type Evidence struct {
	Events   float64 `json:"events"` // in the history, in the mean
	Pairs    int     `json:"pairs"`  // of events that the error was measured on
	Error    float64 `json:"squared_error"`
	Variance float64 `json:"variance"`
}

// newCalibration checks m. It is nil if m was not to know its variance.
func newCalibration(m *model.Model, test []model.History) (*Calibration, error) {
	if !m.HasVariance() {
		if d := m.Describe().Deviation; d != nil && d.Withheld {
			return &Calibration{Withheld: true}, nil
		}
		return nil, nil
	}
	innovations, err := m.Calibration(test)
	if err != nil {
		return nil, err
	}
	evidence, err := m.TasteEvidence(test)
	if err != nil {
		return nil, err
	}
	reliability, err := newReliability(m, test)
	if err != nil {
		return nil, err
	}
	out := &Calibration{
		Events: innovations.Events, Overall: innovations.Overall, Bands: innovations.Bands,
		Reliability: reliability,
	}
	var squares, variances float64
	for _, e := range evidence {
		out.Evidence = append(out.Evidence, Evidence{
			Events: e.Events, Pairs: e.Pairs, Error: e.Product, Variance: e.Variance,
		})
		squares += float64(e.Pairs) * e.Product
		variances += float64(e.Pairs) * e.Variance
	}
	if variances > 0 {
		out.Query = squares / variances
	}
	return out, nil
}
