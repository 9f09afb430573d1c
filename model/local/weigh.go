package local

import (
	"math"

	"github.com/gsimc/gsimc/internal/ranking"
)

// Gains are the values of the targets' places, one for each position: see [Choose].
type Gains []float64

// Mean is 0 without positions.
func (g Gains) Mean() float64 {
	sum := 0.0
	for _, x := range g {
		sum += x
	}
	return sum / float64(max(len(g), 1))
}

// Lead returns the mean by which g is above o, for the same positions, and its standard error.
func (g Gains) Lead(o Gains) (mean, stderr float64) {
	n := float64(max(len(g), 1))
	sum, squares := 0.0, 0.0
	for i, x := range g {
		d := x - o[i]
		sum += d
		squares += float64(d * d)
	}
	mean = sum / n
	return mean, math.Sqrt(max(squares/n-float64(mean*mean), 0) / n)
}

// Beats reports whether g is above o beyond the noise: by more than [Certainty] standard errors.
func (g Gains) Beats(o Gains) bool {
	mean, stderr := g.Lead(o)
	return mean > float64(Certainty*stderr)
}

// Weigher measures scores without a local term by what they are worth with one. It is a light
// [Choose]: of the constants it chooses the weight alone.
type Weigher struct {
	positions chooser
	terms     [][]ranking.Boost // with a weight of 1; nil: no local term
}

// NewWeigher returns a weigher for n items, positions and local terms of the constants of s. counts
// may be nil: there is no local term.
func NewWeigher(n int, counts *Successions, s Spec, positions []Position) *Weigher {
	w := &Weigher{positions: chooser{c: &Successions{n: n}, positions: positions}}
	if counts != nil {
		s.Weight = 1
		w.terms = w.positions.termsOf(counts.Graph(&s))
	}
	return w
}

// Gains returns the gains of the positions by the best weight, which may be none.
func (w *Weigher) Gains() Gains {
	best := w.positions.gains(nil, []float64{0})[0]
	if w.terms == nil {
		return best
	}
	unit := w.positions.unit(w.terms)
	if unit == 0 {
		return best
	}
	scaled := make([]float64, len(weights))
	for i, weight := range weights {
		scaled[i] = weight * unit
	}
	for _, g := range w.positions.gains(w.terms, scaled) {
		if g.Mean() > best.Mean() {
			best = g
		}
	}
	return best
}
