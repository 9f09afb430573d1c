package trend

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/parallel"
)

// Choice is an event that a user chose out of all items, as a model and the trends of that moment
// saw them.
type Choice struct {
	Scores []float32 // ŷ by item; −∞ of those that are left out
	Trends []float32 // g by item; choices of one span may share it
	Target int32     // the item that was chosen
	User   int32     // choices of one user depend on each other
}

// Likelihood is the largest value of
//
//	L(τ, γ) = Σ_choices ln softmax_target(τ ŷ + γ g)
//
// which is concave, and where it lies.
type Likelihood struct {
	Tau, Gamma float64
	Value      float64 // L(Tau, Gamma)
	Without    float64 // max_τ L(τ, 0)
}

// significant is the least growth of a likelihood by γ that is more than chance: half of the 99th
// percentile of χ² with one degree of freedom.
const significant = 3.3

// Gain returns γ/τ, the gain at which the scores are most likely. It is 0 if the trends do not tell
// the choices better than chance would have it, or if they tell them the wrong way. See
// [ChooseGain].
func (l *Likelihood) Gain() float64 {
	if !(l.Tau > 0 && l.Gamma > 0) || l.Value-l.Without < significant {
		return 0
	}
	return l.Gamma / l.Tau
}

// Plain finds the largest likelihood of choices without their trends, by Newton's method.
func Plain(choices []Choice) Likelihood {
	tau, _, value := newton(choices, 1, 0, false)
	return Likelihood{Tau: tau, Value: value, Without: value}
}

// Fit finds the largest likelihood of choices by Newton's method, beginning with that of the same
// choices with other trends or without any.
func Fit(choices []Choice, from Likelihood) Likelihood {
	tau, gamma, value := newton(choices, from.Tau, from.Gamma, true)
	return Likelihood{Tau: tau, Gamma: gamma, Value: value, Without: from.Without}
}

// Newton's method ends when the likelihood grows by less than enough, or after mostSteps.
const (
	mostSteps = 30
	enough    = 1e-3
)

// newton climbs from (tau, gamma). Without both it leaves gamma as it is. A step that goes down is
// halved.
func newton(choices []Choice, tau, gamma float64, both bool) (_, _, value float64) {
	at := derivatives(choices, tau, gamma)
	for range mostSteps {
		dTau, dGamma := at.step(both)
		next, better := at, false
		for range mostSteps {
			next = derivatives(choices, tau+dTau, gamma+dGamma)
			if better = next.value > at.value; better {
				break
			}
			dTau, dGamma = dTau/2, dGamma/2
		}
		if !better {
			break
		}
		grown := next.value - at.value
		tau, gamma, at = tau+dTau, gamma+dGamma, next
		if grown < enough {
			break
		}
	}
	return tau, gamma, at.value
}

// moments are L, its gradient, and the negative of its matrix of second derivatives.
type moments struct {
	value                        float64
	byTau, byGamma               float64
	tauTau, tauGamma, gammaGamma float64
}

// step is the step of Newton's method. A matrix that is nearly singular, as that of trends that are
// all equal, gives no step in γ.
func (m *moments) step(both bool) (dTau, dGamma float64) {
	det := m.tauTau*m.gammaGamma - m.tauGamma*m.tauGamma
	if both && det > 1e-12*m.tauTau*m.gammaGamma {
		return (m.gammaGamma*m.byTau - m.tauGamma*m.byGamma) / det,
			(m.tauTau*m.byGamma - m.tauGamma*m.byTau) / det
	}
	if m.tauTau > 0 {
		return m.byTau / m.tauTau, 0
	}
	return 0, 0
}

// derivatives sums the moments of all choices, in their order.
func derivatives(choices []Choice, tau, gamma float64) moments {
	each := make([]moments, len(choices))
	parallel.TasksWith(len(choices), func() func(t int) {
		return func(t int) { each[t] = choices[t].moments(tau, gamma) }
	})
	var sum moments
	for _, m := range each {
		sum.value += m.value
		sum.byTau += m.byTau
		sum.byGamma += m.byGamma
		sum.tauTau += m.tauTau
		sum.tauGamma += m.tauGamma
		sum.gammaGamma += m.gammaGamma
	}
	return sum
}

// moments are those of one choice: the logarithm of its probability, the target's distance from the
// mean of ŷ and of g under the softmax, and their covariance.
func (c *Choice) moments(tau, gamma float64) (m moments) {
	top := math.Inf(-1)
	for i, y := range c.Scores {
		top = max(top, logit(y, c.Trends[i], tau, gamma))
	}
	var sum, y1, g1, yy, yg, gg float64
	for i, score := range c.Scores {
		e := math.Exp(logit(score, c.Trends[i], tau, gamma) - top)
		if e == 0 {
			continue
		}
		y, g := float64(score), float64(c.Trends[i])
		sum += e
		y1, g1 = y1+e*y, g1+e*g
		yy, yg, gg = yy+e*y*y, yg+e*y*g, gg+e*g*g
	}
	y1, g1 = y1/sum, g1/sum
	y, g := float64(c.Scores[c.Target]), float64(c.Trends[c.Target])
	return moments{
		value: tau*y + gamma*g - top - math.Log(sum),
		byTau: y - y1, byGamma: g - g1,
		tauTau: yy/sum - y1*y1, tauGamma: yg/sum - y1*g1, gammaGamma: gg/sum - g1*g1,
	}
}

// logit is τŷ + γg, and −∞ of an item that is left out, for any τ.
func logit(score, trend float32, tau, gamma float64) float64 {
	if math.IsInf(float64(score), -1) {
		return math.Inf(-1)
	}
	return tau*float64(score) + gamma*float64(trend)
}
