package dynamics

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/kalman"
)

// Noise holds the variances of the deviation b, as in [kalman.Dynamics].
type Noise struct {
	P0, SigmaEta, SigmaNu []float32 // k variances each
	Drift                 float64   // further process noise per second, in units of Σ_η
	Measurements          int       // residuals in each coordinate

	// The mean of w r² over the residuals of each coordinate, and the variance of that mean by the
	// scatter between users; k each.
	Square, SquareVariance []float64
}

// Rows returns W_b e_i of an item for all bands, r·k numbers. It is called from several goroutines
// at a time.
type Rows = func(item int32) []float32

// Encoder returns the encoder row e_i = g·u of an item, u k long. It is called from several
// goroutines at a time.
type Encoder = func(item int32) (u []float32, g float32)

// Bounds of the sample that the noise is learned from: it gives an accuracy of a few per cent, at a
// cost that does not grow with the data.
const (
	noiseUsers        = 2000 // evenly spaced among those with events
	noiseMeasurements = 200  // the newest of each
)

// driftMultiples are the drifts that are tried, in units of one over the median gap between events.
// The gaps of real users span many orders of magnitude, so the steps are large.
var driftMultiples = []float64{0.01, 0.1, 1, 10}

// driftCoordinates is the number of coordinates that the drift is chosen on. All coordinates share
// one drift.
const driftCoordinates = 16

// LearnNoise finds the variances of the deviation by maximum likelihood. d gives the bands and the
// mean; its deviation, if any, is ignored. The residual of an event, r_t = e_{i_t} − (μ + Σ_b y_b),
// has in each coordinate the model
//
//	r_t = b_t + ε_t          ε_t ~ N(0, Σ_ν/w_t)
//	b_1 ~ N(0, P_0)          b_t = b_{t−1} + η_t          η_t ~ N(0, Σ_η (1 + Drift·Δt))
//
// The accelerated EM algorithm fits it with a Kalman filter and a Rauch-Tung-Striebel smoother
// (R. Shumway, D. Stoffer, "An Approach to Time Series Smoothing and Forecasting Using the EM
// Algorithm", J. Time Series Analysis 3, 1982). The drift is the best of a few, 0 among them.
//
// The variances are those of the sample; [Noise.Pool] makes them hold for other users. At most 2000
// users count, with their last 200 events of positive weight each. In a longer history the
// deviation at the first of these events is unknown, so P_0 describes new users only. It is an
// error if no user has two such events. The result does not depend on the number of processors.
// progress may be nil. Several goroutines call it with the number of coordinates done.
func LearnNoise(
	d *kalman.Dynamics, rows Rows, encoder Encoder, histories []kalman.History,
	progress func(done, total int),
) (*Noise, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	m, err := measure(histories)
	if err != nil {
		return nil, err
	}
	bands := &kalman.Dynamics{Bands: d.Bands, Mean: d.Mean}
	drift := m.chooseDrift(bands, rows, encoder)
	return m.learn(bands, rows, encoder, drift, progress)
}

// measurements are the events that the noise is learned from: one series for each user, one after
// the other.
type measurements struct {
	histories []kalman.History
	skip      []int     // the measurements of histories[s] that come before its series
	ptr       []int     // series s is [ptr[s], ptr[s+1])
	weight    []float64 // w of each measurement
	inverse   []float64 // 1/w
	gap       []float64 // seconds since the event before, of any weight
}

// measure selects the series. An event without positive weight measures nothing.
func measure(histories []kalman.History) (*measurements, error) {
	var counts []int
	var users []kalman.History
	for _, h := range histories {
		if c := countMeasurements(h); c > 0 {
			users, counts = append(users, h), append(counts, c)
		}
	}
	if len(users) == 0 {
		return nil, errNoMeasurements()
	}
	m := &measurements{ptr: []int{0}}
	n := min(len(users), noiseUsers)
	for s := range n {
		at := s * len(users) / n
		m.add(users[at], max(0, counts[at]-noiseMeasurements))
	}
	if len(m.gap) == n {
		return nil, &fault.Fault{
			Field: "Histories",
			Problem: fmt.Sprintf("no user of %d has two events of positive weight, "+
				"so a lasting deviation cannot be told from noise", n),
		}
	}
	return m, nil
}

func countMeasurements(h kalman.History) (count int) {
	for _, e := range h {
		if e.Weight > 0 {
			count++
		}
	}
	return count
}

// add appends the series of h without its first skip measurements.
func (m *measurements) add(h kalman.History, skip int) {
	m.histories, m.skip = append(m.histories, h), append(m.skip, skip)
	var newest int64
	left := skip
	for t, e := range h {
		var gap int64
		if t == 0 {
			newest = e.Time
		}
		if e.Time > newest {
			gap, newest = e.Time-newest, e.Time
		}
		switch {
		case !(e.Weight > 0):
		case left > 0:
			left--
		default:
			m.weight = append(m.weight, float64(e.Weight))
			m.inverse = append(m.inverse, 1/float64(e.Weight))
			m.gap = append(m.gap, float64(gap))
		}
	}
	m.ptr = append(m.ptr, len(m.gap))
}

// chooseDrift returns the drift with the largest likelihood over some coordinates. A fit ends a
// leastGain below its maximum or so, so what is no better than a smaller drift by that is not told
// from it, and the smaller one stays.
func (m *measurements) chooseDrift(d *kalman.Dynamics, rows Rows, encoder Encoder) float64 {
	gap := medianPositive(m.gap)
	if gap == 0 {
		return 0
	}
	k := len(d.Mean)
	n := min(k, driftCoordinates)
	candidates := make([]float64, 1, 1+len(driftMultiples)) // 0 first
	for _, multiple := range driftMultiples {
		candidates = append(candidates, multiple/gap)
	}
	likelihood, margin := make([]float64, n*len(candidates)), leastGain*float64(n*len(m.gap))
	parallel.Strips(n, 1, func(lo, _ int) {
		j := lo * k / n
		series := m.residuals(d, j, j+1, rows, encoder)[0]
		for c, drift := range candidates {
			_, likelihood[lo*len(candidates)+c] = newEM(m, series, m.growth(drift), nil).fit()
		}
	})
	best, most := 0.0, 0.0
	for c, drift := range candidates {
		total := 0.0
		for j := range n {
			total += likelihood[j*len(candidates)+c]
		}
		if c == 0 || total > most+margin {
			best, most = drift, total
		}
	}
	return best
}

// medianPositive is the median of the positive numbers in x, 0 if there are none.
func medianPositive(x []float64) float64 {
	positive := make([]float64, 0, len(x))
	for _, v := range x {
		if v > 0 {
			positive = append(positive, v)
		}
	}
	if len(positive) == 0 {
		return 0
	}
	slices.Sort(positive)
	return positive[len(positive)/2]
}

// learn fits every coordinate with the given drift.
func (m *measurements) learn(
	d *kalman.Dynamics, rows Rows, encoder Encoder, drift float64, progress func(done, total int),
) (*Noise, error) {
	k := len(d.Mean)
	out := &Noise{
		P0: make([]float32, k), SigmaEta: make([]float32, k),
		SigmaNu: make([]float32, k), Drift: drift, Measurements: len(m.gap),
		Square: make([]float64, k), SquareVariance: make([]float64, k),
	}
	likelihood, g := make([]float64, k), m.growth(drift)
	var done atomic.Int64
	parallel.Strips(k, stripCoordinates, func(lo, hi int) {
		var before *em // of the coordinate before: its neighbour is much like it
		for c, series := range m.residuals(d, lo, hi, rows, encoder) {
			f := newEM(m, series, g, before)
			before = f
			var v variances
			v, likelihood[lo+c] = f.fit()
			out.P0[lo+c], out.SigmaEta[lo+c], out.SigmaNu[lo+c] = v.rounded()
			out.Square[lo+c], out.SquareVariance[lo+c] = m.meanSquare(series)
		}
		if d := done.Add(int64(hi - lo)); progress != nil {
			progress(int(d), k)
		}
	})
	for j, l := range likelihood {
		if l-l != 0 {
			return nil, &fault.Fault{
				Field: "Histories",
				Problem: fmt.Sprintf(
					"the residuals in coordinate %d are not finite numbers of usable size", j),
			}
		}
	}
	return out, nil
}

// meanSquare returns the mean of w r² over a series of residuals, and the variance of this mean if
// users are independent of each other.
func (m *measurements) meanSquare(residual []float64) (mean, variance float64) {
	for t, r := range residual {
		mean += r * r * m.weight[t]
	}
	mean /= float64(len(residual))
	for s := range m.histories {
		beyond := 0.0
		for t := m.ptr[s]; t < m.ptr[s+1]; t++ {
			beyond += residual[t]*residual[t]*m.weight[t] - mean
		}
		variance += beyond * beyond
	}
	return mean, variance / float64(len(residual)) / float64(len(residual))
}

// residuals returns r_t of all measurements, for each of the coordinates [lo, hi).
func (m *measurements) residuals(
	d *kalman.Dynamics, lo, hi int, rows Rows, encoder Encoder,
) [][]float64 {
	total := len(m.gap)
	out := make([][]float64, hi-lo)
	for c := range out {
		out[c] = make([]float64, total)
	}
	w := newWalker(d, lo, hi, rows, encoder)
	query := make([]float32, hi-lo)
	for s, h := range m.histories {
		at := m.ptr[s] - m.skip[s]
		w.walk(h, func(e kalman.Event, u []float32, g float32) {
			if !(e.Weight > 0) {
				return
			}
			if at >= m.ptr[s] {
				w.d.QueryTo(query, w.state)
				for c, q := range query {
					out[c][at] = float64(float32(g*u[c]) - q)
				}
			}
			at++
		})
	}
	return out
}
