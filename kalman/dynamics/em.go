package dynamics

import (
	"math"

	"github.com/gsimc/gsimc/kalman"
)

// variances of one coordinate.
type variances struct{ p0, eta, nu float64 }

// rounded returns the variances within the bounds of kalman: at least a millionth of Σ_ν, so that a
// filter never stands still for good.
func (v variances) rounded() (p0, eta, nu float32) {
	bound := func(x float64) float32 {
		return float32(min(max(x, kalman.MinVariance, leastShare*v.nu), kalman.MaxVariance))
	}
	return bound(v.p0), bound(v.eta), bound(v.nu)
}

// leastShare bounds the variances from below, in units of the mean square of the residuals.
const leastShare = 1e-6

// When the iteration ends.
const (
	maxCycles = 15   // of two or three steps
	leastGain = 1e-5 // of the log-likelihood in a cycle, for each measurement
)

// growth is the process noise before each measurement in units of Σ_η, for one drift.
type growth struct {
	of      []float64 // 1 + Drift·Δt
	inverse []float64
}

func (m *measurements) growth(drift float64) growth {
	g := growth{of: make([]float64, len(m.gap)), inverse: make([]float64, len(m.gap))}
	for t, gap := range m.gap {
		g.of[t] = 1 + drift*gap
		g.inverse[t] = 1 / g.of[t]
	}
	return g
}

// em fits the variances to the residuals of one coordinate.
type em struct {
	m        *measurements
	residual []float64
	growth   growth
	floor    float64
	v        variances

	mean, variance, predicted []float64 // scratch for one series: filtered b and P, and P̄
}

// newEM begins with the variances that the residuals suggest. If before is not nil, it begins with
// those of that coordinate, in proportion to the residuals.
func newEM(m *measurements, residual []float64, g growth, before *em) *em {
	f := &em{m: m, residual: residual, growth: g}
	square := 0.0
	for t, r := range residual {
		square += r * r * m.weight[t]
	}
	f.floor = max(leastShare*square/float64(len(residual)), kalman.MinVariance)
	longest := 0
	for s := range m.histories {
		longest = max(longest, m.ptr[s+1]-m.ptr[s])
	}
	scratch := make([]float64, 3*longest)
	f.mean, f.variance, f.predicted =
		scratch[:longest], scratch[longest:2*longest], scratch[2*longest:]
	if before == nil {
		f.v = f.moments()
		return f
	}
	ratio, v := f.floor/before.floor, before.v
	f.v = variances{
		max(v.p0*ratio, f.floor), max(v.eta*ratio, f.floor), max(v.nu*ratio, f.floor),
	}
	return f
}

// fit iterates and returns the variances with their log-likelihood. Steps of EM become short near
// the maximum, but keep their direction; so two of them are extrapolated to where they lead
// (SQUAREM; R. Varadhan, C. Roland, "Simple and Globally Convergent Methods for Accelerating the
// Convergence of Any EM Algorithm", Scand. J. Statistics 35, 2008). A jump that lowers the
// likelihood is not made.
func (f *em) fit() (variances, float64) {
	next, likelihood := f.step()
	for range maxCycles {
		before := likelihood
		start, once := f.v, next
		f.v = once
		twice, likelihoodOnce := f.step()
		f.v = f.extrapolate(start, once, twice)
		if next, likelihood = f.step(); !(likelihood >= likelihoodOnce) {
			f.v = twice
			next, likelihood = f.step()
		}
		if !(likelihood-before > leastGain*float64(len(f.residual))) {
			break
		}
	}
	return f.v, likelihood
}

// extrapolate continues the logarithms x_0, x_1, x_2 of three iterates: x_0 − 2αr + α²v with r =
// x_1 − x_0, v = (x_2 − x_1) − r and α = −‖r‖/‖v‖, at most −1.
func (f *em) extrapolate(start, once, twice variances) variances {
	x := [3][3]float64{}
	for i, v := range [3]variances{start, once, twice} {
		x[i] = [3]float64{math.Log(v.p0), math.Log(v.eta), math.Log(v.nu)}
	}
	var r, v [3]float64
	var rr, vv float64
	for c := range r {
		r[c] = x[1][c] - x[0][c]
		v[c] = x[2][c] - x[1][c] - r[c]
		rr, vv = rr+r[c]*r[c], vv+v[c]*v[c]
	}
	alpha := -1.0
	if vv > 0 {
		alpha = -min(max(math.Sqrt(rr/vv), 1), longestJump)
	}
	for c := range r {
		r[c] = max(math.Exp(x[0][c]-2*alpha*r[c]+alpha*alpha*v[c]), f.floor)
	}
	return variances{r[0], r[1], r[2]}
}

// longestJump bounds −α.
const longestJump = 32

// moments is where the iteration starts. Of two residuals of a user, h events apart,
//
//	E (r_{t+h} − r_t)² = Σ_η Σ growth + Σ_ν (1/w_t + 1/w_{t+h})     E r_1² = P_0 + Σ_ν/w_1
//
// h = 1 and 2 give Σ_η and Σ_ν. The model is an approximation, so no share may come out as 0.
func (f *em) moments() variances {
	var square, growth, inverse, pairs [3]float64 // by h
	var first, firstInverse, starts float64
	for s := range f.m.histories {
		lo, hi := f.m.ptr[s], f.m.ptr[s+1]
		if f.m.skip[s] == 0 {
			first += f.residual[lo] * f.residual[lo]
			firstInverse += f.m.inverse[lo]
			starts++
		}
		for t := lo; t < hi; t++ {
			for h := 1; h <= 2 && t+h < hi; h++ {
				d := f.residual[t+h] - f.residual[t]
				square[h] += d * d
				inverse[h] += f.m.inverse[t] + f.m.inverse[t+h]
				growth[h] += f.growth.of[t+1]
				if h == 2 {
					growth[h] += f.growth.of[t+2]
				}
				pairs[h]++
			}
		}
	}
	for h := range pairs {
		if pairs[h] > 0 {
			square[h], growth[h], inverse[h] =
				square[h]/pairs[h], growth[h]/pairs[h], inverse[h]/pairs[h]
		}
	}
	var v variances
	if pairs[2] > 0 { // two equations in Σ_η and Σ_ν
		if det := growth[2]*inverse[1] - growth[1]*inverse[2]; det > 0 {
			v.eta = (square[2]*inverse[1] - square[1]*inverse[2]) / det
		}
	}
	v.eta = min(max(v.eta, 0.01*square[1]/growth[1], f.floor), 0.9*square[1]/growth[1]+f.floor)
	v.nu = max((square[1]-v.eta*growth[1])/inverse[1], f.floor)
	v.p0 = v.nu
	if starts > 0 {
		v.p0 = max((first-v.nu*firstInverse)/starts, 0.05*first/starts, f.floor)
	}
	return v
}

// step returns the variances after one iteration, and the log-likelihood of those before it.
func (f *em) step() (variances, float64) {
	sum := expectations{volume: 1}
	for s := range f.m.histories {
		f.filter(s, &sum)
		f.smooth(s, &sum)
	}
	sum.likelihood -= 0.5 * (math.Log(sum.volume) + sum.told*math.Log(2*math.Pi))
	next := variances{p0: f.v.p0}
	if sum.starts > 0 {
		next.p0 = max(sum.start/sum.starts, f.floor)
	}
	next.eta = max(sum.move/sum.moves, f.floor)
	next.nu = max(sum.error/float64(len(f.residual)), f.floor)
	return next, sum.likelihood
}

// expectations given all residuals, summed over the series; Σ_η and Σ_ν belong to means of unit
// growth and weight.
type expectations struct {
	likelihood    float64 // but for volume, and a factor of 2π for each that is told
	volume        float64 // the product of many variances, for one logarithm
	told          float64 // innovations
	start, starts float64 // Σ E b_1², their number
	move, moves   float64 // Σ E (b_t − b_{t−1})²/growth, their number
	error         float64 // Σ E w (r_t − b_t)²
}

// filter is the Kalman filter over series s. A series that is cut at its beginning starts from its
// first residual; any other from P_0, even if events without weight come first, so that the step of
// P_0 stays closed.
//
// The predicted variance is a fraction, P̄_t = a/b. With ν = Σ_ν/w_t and S = P̄_t + ν, the variance
// of the innovation, the next one is
//
//	P̄_{t+1} = P̄_t ν/S + Σ_η growth = (a·ν + c·Σ_η growth)/c          c = a + b·ν = b·S
//
// so that no step waits for the division of the one before, and the product of all S is the last c.
func (f *em) filter(s int, sum *expectations) {
	lo, hi := f.m.ptr[s], f.m.ptr[s+1]
	residual, inverse, growth := f.residual[lo:hi], f.m.inverse[lo:hi], f.growth.of[lo:hi]
	means, variances, predicted := f.mean[:hi-lo], f.variance[:hi-lo], f.predicted[:hi-lo]
	mean, a, b, first := 0.0, f.v.p0, 1.0, 0
	if f.m.skip[s] > 0 {
		mean, a, first = residual[0], f.v.nu*inverse[0], 1
		means[0], variances[0] = mean, a
		if len(residual) > 1 {
			a += growth[1] * f.v.eta
		}
	}
	if first < len(predicted) {
		predicted[first] = a
	}
	quadratic := 0.0
	for t := first; t < len(residual); t++ {
		noise := f.v.nu * inverse[t]
		c := a + b*noise
		scale := 1 / c
		gain := a * scale
		innovation := residual[t] - mean
		quadratic += innovation * innovation * b * scale
		mean += gain * innovation
		means[t], variances[t] = mean, gain*noise
		if t+1 == len(residual) {
			b = c
			break
		}
		move := growth[t+1] * f.v.eta
		predicted[t+1] = gain*noise + move
		if a, b = a*noise+c*move, c; b > 1e100 || b < 1e-100 {
			sum.times(b)
			a, b = a/b, 1
		}
	}
	sum.times(b)
	sum.likelihood -= 0.5 * quadratic
	sum.told += float64(len(residual) - first)
}

// times multiplies the volume.
func (sum *expectations) times(variances float64) {
	if sum.volume *= variances; sum.volume > 1e150 || sum.volume < 1e-150 {
		sum.likelihood -= 0.5 * math.Log(sum.volume)
		sum.volume = 1
	}
}

// smooth is the Rauch-Tung-Striebel smoother over series s after filter, and adds up what the next
// variances are made of.
func (f *em) smooth(s int, sum *expectations) {
	lo, hi := f.m.ptr[s], f.m.ptr[s+1]
	residual, weight, shrink := f.residual[lo:hi], f.m.weight[lo:hi], f.growth.inverse[lo:hi]
	means, variances, predicted := f.mean[:hi-lo], f.variance[:hi-lo], f.predicted[:hi-lo]
	last := len(residual) - 1
	mean, variance := means[last], variances[last]
	for t := last; ; t-- {
		d := residual[t] - mean
		sum.error += (d*d + variance) * weight[t]
		if t == 0 {
			break
		}
		back := variances[t-1] / predicted[t]
		before := means[t-1] + back*(mean-means[t-1])
		varianceBefore := variances[t-1] + back*back*(variance-predicted[t])
		move := mean - before
		// Cov(b_t, b_{t−1}) = back·Var b_t
		sum.move += (move*move + variance + varianceBefore - 2*back*variance) * shrink[t]
		mean, variance = before, varianceBefore
	}
	sum.moves += float64(last)
	if f.m.skip[s] == 0 {
		sum.start += mean*mean + variance
		sum.starts++
	}
}
