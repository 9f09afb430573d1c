package dynamics

import (
	"math/bits"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/kalman"
)

// Taste says how far a query may be from the taste of its user, as in [kalman.Dynamics].
type Taste struct {
	SigmaTheta []float32 // Σ_θ, k: variance of the tastes of new users around μ
	Floor      float64   // share of it that no evidence removes, 0 to 1
}

// LearnTaste learns what the innovations alone do not tell: they hold the noise of the events,
// which is many times larger than the error of the query. But the noises of two events are
// independent while both are of one taste θ, so with the query q_t before event t, the error of the
// query itself is in the products
//
//	E (e_t − q_t)∘(e_{t+1} − q_t) = Var(θ − q_t)
//
// This is fitted, over all pairs of successive events of positive weight and with equal weights for
// all users, by
//
//	V_N = Σ_θ ∘ (Floor + (1 − Floor)/(1 + N Σ_θ/Σ_ν)) + Σ_η Drift Δt,    N = events before t
//
// the posterior variance of a fixed taste after N measurements, with a floor for the part of the
// taste that has moved on by then (kalman.Dynamics.UncertaintyTo). Σ_θ is fitted to the sum in each
// coordinate, Floor, of a few, to the sums at each N.
//
// d must have a deviation. At most 2000 users count, with their first 200 events each. The
// histories should not be those that the read-out was learned from. The result does not depend on
// the number of processors.
func LearnTaste(
	d *kalman.Dynamics, rows Rows, encoder Encoder, histories []kalman.History,
) (*Taste, error) {
	still := *d
	still.SigmaTheta = nil // then what is expected is Σ_η Drift Δt
	p, err := newProducts(&still, rows, encoder, histories)
	if err != nil {
		return nil, err
	}
	var best *Taste
	least := 0.0
	for step := range floorSteps + 1 {
		t := &Taste{Floor: float64(step) / floorSteps}
		misfit := p.fit(t, d.SigmaNu)
		if best == nil || misfit < least {
			best, least = t, misfit
		}
	}
	return best, nil
}

const (
	floorSteps = 20 // the floors that are tried are multiples of 1/20
	bisections = 80
)

// Evidence compares products of errors of the query with the variance that the model expects of
// them, by how much is known.
type Evidence struct {
	Pairs    int     // of successive events
	Events   float64 // in the history before them, in the mean
	Product  float64 // Σ_l (e_t − q_t)(e_{t+1} − q_t), in the mean
	Variance float64 // Σ_l V, in the mean
}

// TasteEvidence compares for histories with 0, 1, 2–3, 4–7, … events. d must have a deviation and
// Σ_θ.
func TasteEvidence(
	d *kalman.Dynamics, rows Rows, encoder Encoder, histories []kalman.History,
) ([]Evidence, error) {
	p, err := newProducts(d, rows, encoder, histories)
	if err != nil {
		return nil, err
	}
	var out []Evidence
	for b, n := range p.pairs {
		if n == 0 {
			continue
		}
		e := Evidence{Pairs: p.count[b], Events: p.events[b] / n}
		for j := range d.Mean {
			e.Product += p.product[j][b] / n
			e.Variance += p.expected[j][b] / n
		}
		out = append(out, e)
	}
	return out, nil
}

// evidenceBuckets are for N = 0, 1, 2–3, 4–7, …
const evidenceBuckets = 16

// products are sums over pairs of events, by the bucket of their evidence, of a share for each
// pair.
type products struct {
	count         [evidenceBuckets]int       // pairs
	pairs, events [evidenceBuckets]float64   // their shares, and N times these
	product       [][evidenceBuckets]float64 // k: (e_t − q_t)(e_{t+1} − q_t)
	expected      [][evidenceBuckets]float64 // k: V by d
}

func newProducts(
	d *kalman.Dynamics, rows Rows, encoder Encoder, histories []kalman.History,
) (*products, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if !d.HasDeviation() {
		return nil, errNoDeviation()
	}
	k := len(d.Mean)
	p := &products{
		product: make([][evidenceBuckets]float64, k), expected: make([][evidenceBuckets]float64, k),
	}
	users := firstEvents(histories)
	for _, h := range users {
		for t := 0; t+1 < len(h); t++ {
			if isPair(h, t) {
				p.count[bucketOf(t)]++
				p.pairs[bucketOf(t)] += shareOf(h)
				p.events[bucketOf(t)] += shareOf(h) * float64(t)
			}
		}
	}
	parallel.Strips(k, walkedTogether, func(lo, hi int) {
		w := newWalker(d, lo, hi, rows, encoder)
		for _, h := range users {
			p.add(w, h)
		}
	})
	return p, nil
}

// firstEvents cuts the histories to the events that are learned from.
func firstEvents(histories []kalman.History) []kalman.History {
	n := min(len(histories), noiseUsers)
	users := make([]kalman.History, n)
	for s := range users {
		h := histories[s*len(histories)/n]
		users[s] = h[:min(len(h), noiseMeasurements)]
	}
	return users
}

// shareOf is the weight of a pair of h: all pairs of a user together weigh 1.
func shareOf(h kalman.History) float64 { return 1 / float64(max(len(h)-1, 1)) }

func isPair(h kalman.History, t int) bool { return h[t].Weight > 0 && h[t+1].Weight > 0 }

func bucketOf(events int) int { return min(bits.Len(uint(events)), evidenceBuckets-1) }

// add adds the pairs of h, in the coordinates of w.
func (p *products) add(w *walker, h kalman.History) {
	n := w.hi - w.lo
	query, expected := make([]float32, n), make([]float32, n)
	at := 0
	w.walk(h, func(e kalman.Event, u []float32, g float32) {
		t := at
		at++
		if t+1 >= len(h) || !isPair(h, t) {
			return
		}
		next, nextScale := w.encoder(h[t+1].Item)
		next = next[w.lo:w.hi]
		w.d.QueryTo(query, w.state)
		w.d.UncertaintyTo(expected, w.state, e.Time)
		b := bucketOf(t)
		for c, q := range query {
			now, then := float64(g*u[c])-float64(q), float64(nextScale*next[c])-float64(q)
			p.product[w.lo+c][b] += shareOf(h) * now * then
			p.expected[w.lo+c][b] += shareOf(h) * float64(expected[c])
		}
	})
}

// fit finds Σ_θ for the floor of t, and returns how far the sums over all coordinates are from
// those at each N.
func (p *products) fit(t *Taste, sigmaNu []float32) (misfit float64) {
	t.SigmaTheta = make([]float32, len(p.product))
	var off [evidenceBuckets]float64
	for j := range p.product {
		sum := 0.0
		for b := range p.pairs {
			sum += p.product[j][b] - p.expected[j][b]
		}
		theta := p.solve(max(sum, 0), t.Floor, float64(sigmaNu[j]))
		t.SigmaTheta[j] = float32(min(theta, kalman.MaxVariance))
		for b, n := range p.pairs {
			off[b] += p.product[j][b] - p.expected[j][b]
			if n > 0 {
				off[b] -= n * remaining(theta, t.Floor, float64(sigmaNu[j]), p.events[b]/n)
			}
		}
	}
	for b, n := range p.pairs {
		if n > 0 {
			misfit += off[b] * off[b] / n
		}
	}
	return misfit
}

// solve finds the Σ_θ of one coordinate at which the variances that remain add up to sum; they rise
// with it.
func (p *products) solve(sum, floor, sigmaNu float64) float64 {
	if sum == 0 {
		return 0
	}
	lo, hi := 0.0, float64(kalman.MaxVariance)
	if p.pairs[0] > 0 {
		hi = min(hi, sum/p.pairs[0]) // without events all of it remains
	}
	for range bisections {
		mid := (lo + hi) / 2
		total := 0.0
		for b, n := range p.pairs {
			if n > 0 {
				total += n * remaining(mid, floor, sigmaNu, p.events[b]/n)
			}
		}
		if total < sum {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// remaining is the part of the variance theta that is left after a number of events.
func remaining(theta, floor, sigmaNu, events float64) float64 {
	return theta * (floor + (1-floor)/(1+events*theta/sigmaNu))
}
