package again

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/newton"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/local"
)

// Choice is a visit that a user chose out of all items, as a model saw them. Make it by
// [NewChoice].
type Choice struct {
	Scores []float32 // ŷ by item; −∞ of the user's own
	User   int32     // choices of one user depend on each other

	history kalman.History // before the choice
	time    int64          // of the choice
	target  int32
	own     []Own
	scores  []float64 // of own
	at      int       // of the target in own; −1: it is a new item
	rest    rest
}

// rest are the items that are not the user's own, as one: the logarithm of the sum of e^(τŷ) over
// them, and under these weights the mean of ŷ and its variance.
type rest struct{ tau, log, mean, variance float64 }

// NewChoice returns the choice of the last event of a history by a user. The scores are those of
// all items before it, and become the choice's.
func NewChoice(scores []float32, h kalman.History, user int32) Choice {
	last := len(h) - 1
	c := Choice{Scores: scores, User: user, history: slices.Clone(h[max(0, last-Most):last]),
		time:   h[last].Time,
		target: h[last].Item, at: -1, rest: rest{tau: math.NaN()}}
	c.ownBy(&Spec{})
	for i, o := range c.own {
		c.scores = append(c.scores, float64(scores[o.Item]))
		scores[o.Item] = float32(math.Inf(-1))
		if o.Item == c.target {
			c.at = i
		}
	}
	return c
}

// ownBy finds the own items by the decay and the ages of s.
func (c *Choice) ownBy(s *Spec) { c.own = s.Of(c.history, c.time) }

const (
	ridge = 1.0 / 1000

	// significant is the least growth of a likelihood by γ that is more than chance: half of the
	// 99th percentile of χ² with three degrees of freedom.
	significant = 5.7
)

// likeliest finds the constants under which the choices are most likely: the best candidate, with
// c = γ/τ at the largest value of
//
//	L(τ, γ) = Σ_choices ln softmax_target(τ ŷ + Σ_a γ_a f_a) − |γ|²/2000.
//
// f are 1, the recency and −[newest] of own items, and 0 of others. The last term is a weak prior:
// L is strictly concave in γ, and has a largest value where no choice is the newest item. The
// result is the zero value if L is not larger than max_τ L(τ, 0) by more than chance.
//
// The candidates are compared with the τ that is the likeliest without a term. So the items that
// are not the user's own, nearly all, are summed up once for all of them.
func likeliest(choices []Choice) (fitted Spec) {
	type free = [newton.Most]bool // of τ and the three parts of γ
	likelihood := func(at newton.Params) newton.Moments { return derivatives(choices, at) }
	theta, without := newton.Climb(newton.Params{}, free{true}, likelihood)
	plain, best, largest := theta, theta, math.Inf(-1)
	for _, s := range Candidates() {
		for i := range choices {
			choices[i].ownBy(&s)
		}
		at, value := newton.Climb(plain, free{false, true, true, true}, likelihood)
		if value > largest {
			fitted, largest, best = s, value, at
		}
	}
	for i := range choices {
		choices[i].ownBy(&fitted)
	}
	theta, largest = newton.Climb(best, free{true, true, true, true}, likelihood)
	tau := theta[0]
	fitted.Constant, fitted.Recency, fitted.Newest = theta[1]/tau, theta[2]/tau, theta[3]/tau
	if !(tau > 0) || largest-without < significant || fitted.Validate() != nil {
		return Spec{}
	}
	return fitted
}

// shares are the candidates of [Choose], as parts of the likeliest c.
var shares = []float64{0.5, 0.75, 1, 1.25, 1.5}

// Choose returns the constants that put the choices at the best places, out of parts of the
// likeliest ones. It is the zero value if these lists are no better than those of the model alone
// without the newest item, which no choice is, by more than local.Certainty. Likelihood by itself
// is no measure of lists.
func Choose(choices []Choice) (best Spec) {
	s := likeliest(choices)
	if s.None() {
		return s
	}
	users := make([]int32, len(choices))
	for t := range choices {
		users[t] = choices[t].User
	}
	plain, most := places(choices, Spec{Decay: s.Decay, Newest: math.MaxFloat32 / 2}), 0.0
	for _, share := range shares {
		x := s.Scaled(share)
		gains := stat.Difference(places(choices, x), plain)
		mean, _ := stat.Mean(gains)
		if mean > most && mean > float64(local.Certainty*stat.ErrBy(users, gains, mean)) {
			best, most = x, mean
		}
	}
	return best
}

// places are the values of the targets' places with a term.
func places(choices []Choice, s Spec) []float64 {
	values := make([]float64, len(choices))
	parallel.TasksWith(len(choices), func() func(t int) {
		return func(t int) { values[t] = local.Gain(choices[t].place(&s)) }
	})
	return values
}

// place is the place of the target among all items with the term.
func (c *Choice) place(s *Spec) int {
	score := func(i int) float32 { return float32(c.scores[i] + s.Term(&c.own[i])) }
	target := ranking.Scored{Item: c.target}
	if c.at >= 0 {
		target.Score = score(c.at)
	} else {
		target.Score = c.Scores[c.target]
	}
	place := 1
	for i, y := range c.Scores {
		if ranking.Before(ranking.Scored{Item: int32(i), Score: y}, target) {
			place++
		}
	}
	for i := range c.own {
		other := ranking.Scored{Item: c.own[i].Item, Score: score(i)}
		if i != c.at && ranking.Before(other, target) {
			place++
		}
	}
	return place
}

// restAt returns the sums over the items that are not the user's own.
func (c *Choice) restAt(tau float64) *rest {
	r := &c.rest
	if r.tau == tau {
		return r
	}
	top := math.Inf(-1)
	for _, y := range c.Scores {
		if y := float64(y); !math.IsInf(y, -1) {
			top = max(top, tau*y)
		}
	}
	var sum, first, second float64
	for _, y := range c.Scores {
		y := float64(y)
		if math.IsInf(y, -1) {
			continue
		}
		e := math.Exp(tau*y - top)
		sum, first, second = sum+e, first+e*y, second+e*y*y
	}
	*r = rest{tau: tau, log: math.Inf(-1)}
	if sum > 0 {
		r.log, r.mean = top+math.Log(sum), first/sum
		r.variance = max(second/sum-r.mean*r.mean, 0)
	}
	return r
}
