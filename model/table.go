package model

import (
	"github.com/gsimc/gsimc/internal/num/topn"
)

// table holds the rows and numbers of n items.
type table struct {
	basis   []float32 // n×k, U; UQ with a full covariance
	degrees []int64   // n, d_v

	// predictions holds the numbers that the transition keeps for each item: its prediction of the
	// next event after an event on the item. Row i is QᵀH u_i for the rotated filter, and W_b e_i
	// for each band of learned dynamics. The diagonal filter keeps none.
	predictions []float32 // n×width
	width       int

	// The factors d^{∓t/2} are kept in the file, not computed when it is read. Computed powers may
	// differ in the last bit between processors, and states must not.
	encoderScale []float32 // n, d_i^{−t/2}
	decoderScale []float32 // n, d_i^{t/2}
	graphScale   []float64 // n, the diagonal by which K is normalised, see spectral.Basis.Scale

	ids []string // n, ascending bytewise

	// Derived, not in the file.
	top   *topn.Index     // index of basis and decoderScale
	added *topn.Additions // to the scores; nil for none, see WithTrends and WithRules
}

// at returns the table of item i and the row of the item in it.
func (m *Model) at(i int32) (*table, int) {
	if int(i) < m.n {
		return &m.table, int(i)
	}
	return &m.extension.table, int(i) - m.n
}

// setPredictions sets predictions and width. All items have the same number of predictions;
// predictions may be nil.
func (t *table) setPredictions(predictions []float32) {
	t.predictions = predictions
	if n := len(t.degrees); n > 0 {
		t.width = len(predictions) / n
	}
}

// prediction returns row i of predictions.
func (t *table) prediction(i int) []float32 { return row(t.predictions, i, t.width) }

// encoder returns e_i = d_i^{−t/2} u_i as a row of k numbers and a factor.
func (t *table) encoder(i, k int) (u []float32, g float32) {
	return row(t.basis, i, k), t.encoderScale[i]
}

// decoder returns v_i = d_i^{t/2} u_i as a row of k numbers and a factor.
func (t *table) decoder(i, k int) (u []float32, g float32) {
	return row(t.basis, i, k), t.decoderScale[i]
}

// encoder returns the encoder row of item i as a row and a factor.
func (m *Model) encoder(i int32) (u []float32, g float32) {
	t, at := m.at(i)
	return t.encoder(at, m.k)
}

// decoder returns the decoder row of item i as a row and a factor.
func (m *Model) decoder(i int32) (u []float32, g float32) {
	t, at := m.at(i)
	return t.decoder(at, m.k)
}

// prediction returns the predictions of item i.
func (m *Model) prediction(i int32) []float32 {
	t, at := m.at(i)
	return t.prediction(at)
}

// row returns row i of a row-major matrix with k columns.
func row[T any](a []T, i, k int) []T { return a[i*k : (i+1)*k : (i+1)*k] }
