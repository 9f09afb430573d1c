package dynamics

import (
	"math/rand/v2"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/kalman"
)

// Pool makes the variances of n hold for users outside of the sample of [LearnNoise]. A coordinate
// of a small piece of the graph is touched by few users of the sample, or by none. Its own estimate
// is then next to 0, or it is set by those few users.
//
// First, each variance in units of σ²_l becomes a mean of its own and that of coordinates of like
// kurtosis, by their errors (see [Spread]). Then the three variances of a coordinate are multiplied
// by one factor, which leaves the gains as they are: the mean of ν²/(P̄ + Σ_ν/w) over the events of
// the histories, pooled in the same way.
//
// d gives the bands and the mean. The result compares two halves of the users: the factors of each
// half are measured on the other.
func (n *Noise) Pool(
	d *kalman.Dynamics, rows Rows, encoder Encoder, histories []kalman.History, spread *Spread,
) (*Calibration, error) {
	classes := newClasses(spread, n)
	n.blend(spread, classes)
	filter := *d
	filter.P0, filter.SigmaEta, filter.SigmaNu, filter.Drift = n.P0, n.SigmaEta, n.SigmaNu, n.Drift
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	h := newHalves(&filter, rows, encoder, histories)
	if h.events[0]+h.events[1] == 0 {
		return nil, errNoMeasurements()
	}
	for j, factor := range h.factors(classes, true, true) {
		v := variances{
			float64(n.P0[j]) * factor, float64(n.SigmaEta[j]) * factor,
			float64(n.SigmaNu[j]) * factor,
		}
		n.P0[j], n.SigmaEta[j], n.SigmaNu[j] = v.rounded()
	}
	return h.cross(classes), nil
}

// blend draws the variances of a coordinate to the mean of its class.
func (n *Noise) blend(spread *Spread, classes *classes) {
	pooled := func(v []float32) []float64 {
		x := make([]float64, len(v))
		for j, unit := range spread.Variance {
			if unit > 0 {
				x[j] = float64(v[j]) / unit
			}
		}
		return classes.pooled(x, classes.size)
	}
	p0, eta, nu := pooled(n.P0), pooled(n.SigmaEta), pooled(n.SigmaNu)
	for j, unit := range spread.Variance {
		if unit > 0 {
			v := variances{p0[j] * unit, eta[j] * unit, nu[j] * unit}
			n.P0[j], n.SigmaEta[j], n.SigmaNu[j] = v.rounded()
		}
	}
}

// poolEvents bounds the events that the scale of the variances is measured on. Short histories come
// from more users than EM affords, since rare coordinates need many users.
const poolEvents = noiseUsers * noiseMeasurements

// poolUsers returns evenly spaced users with poolEvents events together or fewer, but at least
// noiseUsers users.
func poolUsers(histories []kalman.History) []kalman.History {
	total := 0
	for _, h := range histories {
		total += len(h)
	}
	n := len(histories)
	if total > poolEvents {
		n = min(n, max(noiseUsers, int(float64(n)*poolEvents/float64(total))))
	}
	users := make([]kalman.History, n)
	for s := range users {
		users[s] = histories[s*len(histories)/n]
	}
	return users
}

// halves are the sums of ν²/(P̄ + Σ_ν/w) of every coordinate over two halves of the users.
type halves struct {
	sum    [2][]float64 // k
	events [2]float64
}

func newHalves(
	d *kalman.Dynamics, rows Rows, encoder Encoder, histories []kalman.History,
) *halves {
	k := len(d.Mean)
	h := &halves{sum: [2][]float64{make([]float64, k), make([]float64, k)}}
	users := poolUsers(histories)
	half := drawHalves(len(users))
	for s, user := range users {
		h.events[half[s]] += float64(countMeasurements(user))
	}
	parallel.Strips(k, walkedTogether, func(lo, hi int) {
		w := newWalker(d, lo, hi, rows, encoder)
		for s, user := range users {
			w.addInnovations(user, h.sum[half[s]][lo:hi])
		}
	})
	return h
}

// drawHalves returns the half of each of n users. Of two neighbours one is drawn for each half,
// since users may come in an order that has a period.
func drawHalves(n int) []int {
	rng := rand.New(rand.NewPCG(0, 0))
	half := make([]int, n)
	for s := range half {
		if s%2 == 0 {
			half[s] = rng.IntN(2)
		} else {
			half[s] = 1 - half[s-1]
		}
	}
	return half
}

// means returns the mean of ν²/(P̄ + Σ_ν/w) in each coordinate over one half or both.
func (h *halves) means(first, second bool) (means []float64, events float64) {
	means = make([]float64, len(h.sum[0]))
	for half, in := range [2]bool{first, second} {
		if in {
			events += h.events[half]
			for j, x := range h.sum[half] {
				means[j] += x
			}
		}
	}
	for j := range means {
		means[j] /= max(events, 1)
	}
	return means, events
}

// factors returns the factors by which the variances are too small.
func (h *halves) factors(classes *classes, first, second bool) []float64 {
	means, events := h.means(first, second)
	return classes.pooled(means, max(events, 1))
}

// nothing is the factor of a coordinate in which nothing was measured at all.
const nothing = 1e-6

// cross is the calibration by the factors of the other half.
func (h *halves) cross(classes *classes) *Calibration {
	k := len(h.sum[0])
	out := &Calibration{Coordinates: make([]float64, k), Events: int(h.events[0] + h.events[1])}
	for half := range h.sum {
		here, _ := h.means(half == 0, half == 1)
		for j, factor := range h.factors(classes, half == 1, half == 0) {
			out.Coordinates[j] += here[j] / max(factor, nothing) / 2
		}
	}
	out.summarise(len(classes.bands))
	return out
}
