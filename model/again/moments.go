package again

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/newton"
)

// derivatives sums the moments of all choices, and those of the prior.
func derivatives(choices []Choice, at newton.Params) newton.Moments {
	sum := newton.Sum(len(choices), func(t int) newton.Moments { return choices[t].moments(at) })
	for a := 1; a < len(at); a++ {
		sum.Value -= ridge * at[a] * at[a] / 2
		sum.Gradient[a] -= ridge * at[a]
		sum.Matrix[a][a] += ridge
	}
	return sum
}

// features are what τ and γ are multiplied by in the logit of own item i.
func (c *Choice) features(i int) newton.Params {
	return newton.Params{c.scores[i], 1, c.own[i].recency, -c.own[i].newest}
}

// moments are those of one choice: the logarithm of its probability, the distance of the target's
// features from their mean under the softmax, and their covariance.
func (c *Choice) moments(at newton.Params) (m newton.Moments) {
	r := c.restAt(at[0])
	top := r.log
	for i := range c.own {
		f := c.features(i)
		top = max(top, at.Dot(&f))
	}
	others := math.Exp(r.log - top)
	sum := others
	mean := newton.Params{others * r.mean}
	m.Matrix[0][0] = others * (r.variance + r.mean*r.mean)
	for i := range c.own {
		f := c.features(i)
		e := math.Exp(at.Dot(&f) - top)
		sum += e
		for a := range f {
			mean[a] += e * f[a]
			for b := range f {
				m.Matrix[a][b] += e * f[a] * f[b]
			}
		}
	}
	var target newton.Params
	if c.at >= 0 {
		target = c.features(c.at)
	} else {
		target[0] = float64(c.Scores[c.target])
	}
	m.Value = at.Dot(&target) - top - math.Log(sum)
	for a := range mean {
		mean[a] /= sum
		m.Gradient[a] = target[a] - mean[a]
	}
	for a := range mean {
		for b := range mean {
			m.Matrix[a][b] = m.Matrix[a][b]/sum - mean[a]*mean[b]
		}
	}
	return m
}
