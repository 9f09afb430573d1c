package dynamics

import (
	"github.com/gsimc/gsimc/internal/parallel"
	"github.com/gsimc/gsimc/kalman"
)

// Calibration compares the innovations ν of a filter with the variance P̄ + Σ_ν/w that it gives
// them: the mean of ν²/(P̄ + Σ_ν/w), the normalised innovation squared. It is 1 if the filter knows
// its own uncertainty, more if it trusts itself too much.
type Calibration struct {
	Coordinates []float64 // k
	Bands       []float64 // min(k, 8) equal ranges of coordinates, from low frequencies to high
	Overall     float64
	Events      int // events of positive weight; no others count
}

// calibrationBands is how many ranges of coordinates Calibration.Bands has.
const calibrationBands = 8

// Innovations runs the filter of d, which must have a deviation, over all histories. Rows and
// encoder as for [LearnNoise].
func Innovations(
	d *kalman.Dynamics, rows Rows, encoder Encoder, histories []kalman.History,
) (*Calibration, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if !d.HasDeviation() {
		return nil, errNoDeviation()
	}
	k := len(d.Mean)
	out := &Calibration{
		Coordinates: make([]float64, k), Bands: make([]float64, min(k, calibrationBands)),
	}
	for _, h := range histories {
		out.Events += countMeasurements(h)
	}
	if out.Events == 0 {
		return nil, errNoMeasurements()
	}
	parallel.Strips(k, stripCoordinates, func(lo, hi int) {
		w := newWalker(d, lo, hi, rows, encoder)
		for _, h := range histories {
			w.addInnovations(h, out.Coordinates[lo:hi])
		}
	})
	for j := range out.Coordinates {
		out.Coordinates[j] /= float64(out.Events)
		out.Overall += out.Coordinates[j] / float64(k)
	}
	for b := range out.Bands {
		lo, hi := b*k/len(out.Bands), (b+1)*k/len(out.Bands)
		for _, x := range out.Coordinates[lo:hi] {
			out.Bands[b] += x / float64(hi-lo)
		}
	}
	return out, nil
}

// addInnovations adds ν²/(P̄ + Σ_ν/w) of each event of h to sum.
func (w *walker) addInnovations(h kalman.History, sum []float64) {
	query, variance := make([]float32, len(sum)), make([]float32, len(sum))
	w.walk(h, func(e kalman.Event, u []float32, g float32) {
		if !(e.Weight > 0) {
			return
		}
		w.d.QueryTo(query, w.state)
		w.d.VarianceTo(variance, w.state, e.Time)
		for c, q := range query {
			innovation := float64(float32(g*u[c]) - q)
			expected := float64(variance[c]) + float64(w.d.SigmaNu[c]/e.Weight)
			sum[c] += innovation * innovation / expected
		}
	})
}
