package again

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/parallel"
)

// params are τ and γ, or something for each of them.
type params [numParams]float64

// moments are L, its gradient, and the negative of its matrix of second derivatives.
type moments struct {
	value    float64
	gradient params
	matrix   [numParams]params
}

// Newton's method ends when the likelihood grows by less than enough, or after mostSteps.
const (
	mostSteps = 30
	enough    = 1e-3
)

// climb finds the largest L from at on by Newton's method, over the parameters that are free. A
// step that goes down is halved.
func climb(choices []Choice, at params, free [numParams]bool) (_ params, value float64) {
	now := derivatives(choices, at)
	for range mostSteps {
		step := now.step(free)
		next, better, to := now, false, at
		for range mostSteps {
			for a := range at {
				to[a] = at[a] + step[a]
			}
			next = derivatives(choices, to)
			if better = next.value > now.value; better {
				break
			}
			for a := range step {
				step[a] /= 2
			}
		}
		if !better {
			break
		}
		grown := next.value - now.value
		at, now = to, next
		if grown < enough {
			break
		}
	}
	return at, now.value
}

// step solves for the step of Newton's method, by elimination. A parameter on which nothing depends
// stays.
func (m *moments) step(free [numParams]bool) (x params) {
	a, b := m.matrix, m.gradient
	for p := range numParams {
		if !free[p] || !(a[p][p] > 1e-12*m.matrix[p][p]) {
			a[p], b[p] = params{}, 0
			for q := range numParams {
				a[q][p] = 0
			}
			a[p][p] = 1
			continue
		}
		for q := p + 1; q < numParams; q++ {
			factor := a[q][p] / a[p][p]
			for r := p; r < numParams; r++ {
				a[q][r] -= factor * a[p][r]
			}
			b[q] -= factor * b[p]
		}
	}
	for p := numParams - 1; p >= 0; p-- {
		x[p] = b[p]
		for q := p + 1; q < numParams; q++ {
			x[p] -= a[p][q] * x[q]
		}
		x[p] /= a[p][p]
	}
	return x
}

// derivatives sums the moments of all choices, in their order, and those of the prior.
func derivatives(choices []Choice, at params) moments {
	each := make([]moments, len(choices))
	parallel.TasksWith(len(choices), func() func(t int) {
		return func(t int) { each[t] = choices[t].moments(at) }
	})
	var sum moments
	for t := range each {
		m := &each[t]
		sum.value += m.value
		for a := range numParams {
			sum.gradient[a] += m.gradient[a]
			for b := range numParams {
				sum.matrix[a][b] += m.matrix[a][b]
			}
		}
	}
	for a := 1; a < numParams; a++ {
		sum.value -= ridge * at[a] * at[a] / 2
		sum.gradient[a] -= ridge * at[a]
		sum.matrix[a][a] += ridge
	}
	return sum
}

// features are what τ and γ are multiplied by in the logit of own item i.
func (c *Choice) features(i int) params {
	return params{c.scores[i], 1, c.own[i].recency, -c.own[i].newest}
}

func (at *params) logit(f *params) (sum float64) {
	for a := range at {
		sum += at[a] * f[a]
	}
	return sum
}

// moments are those of one choice: the logarithm of its probability, the distance of the target's
// features from their mean under the softmax, and their covariance.
func (c *Choice) moments(at params) (m moments) {
	r := c.restAt(at[0])
	top := r.log
	for i := range c.own {
		f := c.features(i)
		top = max(top, at.logit(&f))
	}
	others := math.Exp(r.log - top)
	sum := others
	mean := params{others * r.mean}
	m.matrix[0][0] = others * (r.variance + r.mean*r.mean)
	for i := range c.own {
		f := c.features(i)
		e := math.Exp(at.logit(&f) - top)
		sum += e
		for a := range f {
			mean[a] += e * f[a]
			for b := range f {
				m.matrix[a][b] += e * f[a] * f[b]
			}
		}
	}
	var target params
	if c.at >= 0 {
		target = c.features(c.at)
	} else {
		target[0] = float64(c.Scores[c.target])
	}
	m.value = at.logit(&target) - top - math.Log(sum)
	for a := range mean {
		mean[a] /= sum
		m.gradient[a] = target[a] - mean[a]
	}
	for a := range mean {
		for b := range mean {
			m.matrix[a][b] = m.matrix[a][b]/sum - mean[a]*mean[b]
		}
	}
	return m
}
