package trend

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/newton"
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
// [Choose].
func (l *Likelihood) Gain() float64 {
	if !(l.Tau > 0 && l.Gamma > 0) || l.Value-l.Without < significant {
		return 0
	}
	return l.Gamma / l.Tau
}

// Plain finds the largest likelihood of choices without their trends, by Newton's method. The unit
// of the scores is not known, and most of the steps are on the way to it. Of many choices, a part
// leads there.
func Plain(choices []Choice) Likelihood {
	const part, many = 16, 800
	from, free := newton.Params{1}, [newton.Most]bool{true}
	if len(choices) >= many {
		var some []Choice
		for t := 0; t < len(choices); t += part {
			some = append(some, choices[t])
		}
		from, _ = newton.Climb(from, free, derivatives(some))
	}
	at, value := newton.Climb(from, free, derivatives(choices))
	return Likelihood{Tau: at[0], Value: value, Without: value}
}

// Fit finds the largest likelihood of choices by Newton's method, beginning with that of the same
// choices with other trends or without any.
func Fit(choices []Choice, from Likelihood) Likelihood {
	at, value := newton.Climb(newton.Params{from.Tau, from.Gamma}, [newton.Most]bool{true, true},
		derivatives(choices))
	return Likelihood{Tau: at[0], Gamma: at[1], Value: value, Without: from.Without}
}

// derivatives returns L of the choices with its derivatives by τ and γ.
func derivatives(choices []Choice) func(newton.Params) newton.Moments {
	return func(at newton.Params) newton.Moments {
		return newton.Sum(len(choices), func(t int) newton.Moments {
			return choices[t].moments(at[0], at[1])
		})
	}
}

// moments are those of one choice: the logarithm of its probability, the target's distance from the
// mean of ŷ and of g under the softmax, and their covariance.
func (c *Choice) moments(tau, gamma float64) newton.Moments {
	top, trends := math.Inf(-1), c.Trends[:len(c.Scores)]
	for i, y := range c.Scores {
		if x := logit(y, trends[i], tau, gamma); x > top {
			top = x
		}
	}
	var sum, y1, g1, yy, yg, gg float64
	for i, score := range c.Scores {
		e := exp(logit(score, trends[i], tau, gamma) - top)
		if e == 0 {
			continue
		}
		y, g := float64(score), float64(trends[i])
		ey, eg := e*y, e*g
		sum, y1, g1 = sum+e, y1+ey, g1+eg
		yy, yg, gg = yy+ey*y, yg+ey*g, gg+eg*g
	}
	y1, g1 = y1/sum, g1/sum
	y, g := float64(c.Scores[c.Target]), float64(c.Trends[c.Target])
	return newton.Moments{
		Value:    tau*y + gamma*g - top - math.Log(sum),
		Gradient: newton.Params{y - y1, g - g1},
		Matrix: [newton.Most]newton.Params{
			{yy/sum - y1*y1, yg/sum - y1*g1}, {yg/sum - y1*g1, gg/sum - g1*g1},
		},
	}
}

// logit is τŷ + γg, and −∞ of an item that is left out, for any τ.
func logit(score, trend float32, tau, gamma float64) float64 {
	if math.IsInf(float64(score), -1) {
		return math.Inf(-1)
	}
	return tau*float64(score) + gamma*float64(trend)
}
