package local

import "math"

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
	counts *Successions
	graph  *Graph // with a weight of 1; nil: no local term
}

// NewWeigher returns a weigher for n items and local terms of the constants of s. counts may be
// nil: there is no local term.
func NewWeigher(n int, counts *Successions, s Spec) *Weigher {
	w := &Weigher{counts: counts}
	if counts == nil {
		w.counts = &Successions{n: n}
	} else {
		s.Weight = 1
		w.graph = counts.Graph(&s)
	}
	return w
}

// Gains returns the gains of the positions by the best weight, which may be none.
func (w *Weigher) Gains(positions []Position) Gains {
	x := &chooser{c: w.counts, positions: positions}
	best := x.gains(nil, []float64{0})[0]
	if w.graph == nil {
		return best
	}
	unit := x.unit(w.graph)
	if unit == 0 {
		return best
	}
	scaled := make([]float64, len(weights))
	for i, weight := range weights {
		scaled[i] = weight * unit
	}
	for _, g := range x.gains(w.graph, scaled) {
		if g.Mean() > best.Mean() {
			best = g
		}
	}
	return best
}
