package dynamics

import (
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/kalman"
)

// Calibration compares the innovations ν of a filter with the variance P̄ + Σ_ν/w that it gives
// them: the mean of ν²/(P̄ + Σ_ν/w), the normalised innovation squared. It is 1 if the filter knows
// its own uncertainty, more if it trusts itself too much.
type Calibration struct {
	Coordinates []float64 // k
	Bands       []float64 // up to 8 equal ranges of coordinates, from low frequencies to high
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
	out := &Calibration{Coordinates: make([]float64, k)}
	for _, h := range histories {
		out.Events += countMeasurements(h)
	}
	if out.Events == 0 {
		return nil, errNoMeasurements()
	}
	parallel.Strips(k, walkedTogether, func(lo, hi int) {
		w := newWalker(d, lo, hi, rows, encoder)
		for _, h := range histories {
			w.addInnovations(h, out.Coordinates[lo:hi])
		}
	})
	for j := range out.Coordinates {
		out.Coordinates[j] /= float64(out.Events)
	}
	out.summarise(min(k, calibrationBands))
	return out, nil
}

// MostOff is the factor by which the variances of a range of frequencies may be off. Beyond it they
// are worse than none.
const MostOff = 1.5

// Holds reports whether all Bands are within a factor of MostOff of 1.
func (c *Calibration) Holds() bool {
	for _, x := range c.Bands {
		if !(x <= MostOff && x >= 1/MostOff) {
			return false
		}
	}
	return true
}

// summarise sets Overall and Bands, of the given number, from Coordinates.
func (c *Calibration) summarise(bands int) {
	k := len(c.Coordinates)
	c.Overall, c.Bands = 0, make([]float64, bands)
	for _, x := range c.Coordinates {
		c.Overall += x / float64(k)
	}
	for b := range c.Bands {
		lo, hi := b*k/len(c.Bands), (b+1)*k/len(c.Bands)
		for _, x := range c.Coordinates[lo:hi] {
			c.Bands[b] += x / float64(hi-lo)
		}
	}
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
