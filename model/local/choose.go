package local

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
)

// Position is an event of a user that the graph was not counted from, with what is known before it.
type Position struct {
	// Recent holds the events before it that count, the newest one last. No weight is negative.
	Recent []kalman.Recent
	Target ranking.Scored // the item of the event, and its score without a local term

	// Top holds the items of the largest scores without a local term, the best one first: all
	// that are not below the target, or all from a larger score on, [TopLength] or a few more. Of
	// many that share the lowest of these scores it holds those with the lowest indices. Near
	// holds the items of [Successions.Near]. Both leave out the items of the history.
	Top, Near []ranking.Scored
}

// Rank sets the scores of p, and Top, by the scores of all items without a local term, which are −∞
// for those of the history.
func (p *Position) Rank(scores []float32) {
	p.Target.Score = scores[p.Target.Item]
	floor := topFloor(scores, p.Target.Score)
	top, ties := p.Top[:0], TopLength // more of them at the floor say nothing about a longer list
	for i, score := range scores {
		if score < floor {
			continue
		}
		if score == floor {
			if ties--; ties < 0 {
				continue
			}
		}
		if top = append(top, ranking.Scored{Item: int32(i), Score: score}); score > top[0].Score {
			top[0], top[len(top)-1] = top[len(top)-1], top[0]
		}
	}
	p.Top = top
	for at := range p.Near {
		p.Near[at].Score = scores[p.Near[at].Item]
	}
}

// topFloor is the score of a target, or a larger one that TopLength scores or more reach, so that
// few do. It takes several times less time to count the scores that reach one than to select any.
func topFloor(scores []float32, target float32) float32 {
	const (
		few   = 2 * TopLength
		steps = 30
	)
	low, high := target, float32(math.Inf(-1))
	if vec.CountAtLeast(scores, low) <= few {
		return low
	}
	for _, score := range scores {
		if score > high {
			high = score
		}
	}
	for range steps {
		middle := low + (high-low)/2
		switch n := vec.CountAtLeast(scores, middle); {
		case n < TopLength:
			high = middle
		case n > few:
			low = middle
		default:
			return middle
		}
	}
	return low
}

// TopLength is the number of items of Position.Top: those on which NDCG@100 depends.
const TopLength = 100

// The values of the constants that are tried. The weights are in units of the ratio between the
// scores and the local terms of the positions.
var (
	weights   = powersOfTwo(-6, 5)
	backwards = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}
	exponents = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}
	fades     = []float64{0.3, 0.4, 0.5, 0.65, 0.8, 0.9}
	discounts = []float64{0, 0.25, 0.5, 1}
)

// powersOfTwo returns 2^from to 2^to in steps of √2.
func powersOfTwo(from, to int) []float64 {
	var out []float64
	for x := 2 * from; x <= 2*to; x++ {
		out = append(out, math.Pow(2, float64(x)/2))
	}
	return out
}

// The value of a place is that of NDCG@10, for which the service is built. Places up to 100 count a
// quarter, which makes the choice less noisy.
const (
	shortList = 10
	longList  = 100
	longShare = 0.25
)

// Certainty is the gain that a choice must bring, in standard errors of its mean. A choice without
// it would follow the noise of few users.
const Certainty = 0.5

// Choice is the outcome of [Choose].
type Choice struct {
	Spec    Spec    // Weight is 0 where no local term is better
	Value   float64 // the mean value of the targets' places
	Without float64 // the same without a local term
}

// FewestPositions is the number of positions below which nothing is chosen: noise would choose.
const FewestPositions = 300

// Choose returns the constants that rank the targets of the positions best. It begins with start
// and moves one constant at a time. A move counts if the mean gain is certain enough: see
// [Certainty]. progress may be nil.
func Choose(
	c *Successions, positions []Position, start Spec, progress func(done, total int),
) Choice {
	return choose(c, positions, start, weights, maxWeight, progress)
}

// aloneWeight makes the local term larger than any score.
const aloneWeight = 1 << 40

// ChooseAlone is Choose for a ranking by the local term alone. The scores of the positions only
// order items of equal terms. The Weight of the choice says no more than whether there is a term.
func ChooseAlone(
	c *Successions, positions []Position, start Spec, progress func(done, total int),
) Choice {
	return choose(c, positions, start, []float64{aloneWeight}, math.Inf(1), progress)
}

func choose(
	c *Successions, positions []Position, start Spec, weights []float64, mostWeight float64,
	progress func(done, total int),
) Choice {
	x := &chooser{
		c: c, positions: positions, weights: weights, mostWeight: mostWeight, progress: progress,
		tried: map[Spec]bool{},
	}
	start.Weight = 0
	x.best = trial{spec: start, gains: x.gains(nil, []float64{0})[0]}
	without := x.best.gains.Mean()
	if len(positions) >= FewestPositions {
		x.climb()
	}
	return Choice{Spec: x.best.spec, Value: x.best.gains.Mean(), Without: without}
}

// chooser is the work of one Choose.
type chooser struct {
	c         *Successions
	positions []Position
	weights   []float64 // that are tried, in units of the scores over the local terms
	progress  func(done, total int)
	best      trial
	moves     int           // of the best
	tried     map[Spec]bool // with a weight of 0

	mostWeight float64 // largest weight of a choice

	terms [][]ranking.Boost // of termsOf
}

// trial is a set of constants with its gains.
type trial struct {
	spec  Spec
	gains Gains
}

// rounds is the largest number of times that each constant is moved.
const rounds = 2

// expectedTrials is the typical number of trials, for the progress.
const expectedTrials = 24

// climb moves one constant after the other, in two rounds.
func (x *chooser) climb() {
	x.try(x.best.spec)
	if x.best.spec.None() {
		return
	}
	for round, before := 0, 0; round < rounds && x.moves > before; round++ {
		before = x.moves
		for _, move := range []struct {
			values []float64
			field  func(*Spec) *float64
		}{
			{backwards, func(s *Spec) *float64 { return &s.Backward }},
			{exponents, func(s *Spec) *float64 { return &s.TargetExponent }},
			{exponents, func(s *Spec) *float64 { return &s.SourceExponent }},
			{fades, func(s *Spec) *float64 { return &s.Fade }},
			{discounts, func(s *Spec) *float64 { return &s.Discount }},
		} {
			x.move(move.values, move.field)
		}
	}
}

// move moves one constant up, or else down, as long as that is better.
func (x *chooser) move(values []float64, field func(*Spec) *float64) {
	for _, step := range []int{1, -1} {
		moved := false
		for {
			s := x.best.spec
			at, known := slices.BinarySearch(values, *field(&s))
			if step < 0 || known { // a value between two goes up to the larger one
				at += step
			}
			if at < 0 || at >= len(values) {
				break
			}
			*field(&s) = values[at]
			if !x.try(s) {
				break
			}
			moved = true
		}
		if moved {
			return
		}
	}
}

// try measures the constants of s with each weight, keeps the best if it beats the best so far, and
// reports whether it did.
func (x *chooser) try(s Spec) bool {
	s.Weight = 0
	if x.tried[s] {
		return false
	}
	x.tried[s] = true
	if x.progress != nil {
		x.progress(min(len(x.tried), expectedTrials), expectedTrials)
	}
	s.Weight = 1
	terms := x.termsOf(x.c.Graph(&s))
	unit := x.unit(terms)
	if unit == 0 {
		return false
	}
	var scaled []float64
	for _, w := range x.weights {
		if w*unit <= x.mostWeight {
			scaled = append(scaled, w*unit)
		}
	}
	best := trial{}
	for i, gains := range x.gains(terms, scaled) {
		t := trial{spec: s, gains: gains}
		t.spec.Weight = scaled[i]
		if best.gains == nil || t.gains.Mean() > best.gains.Mean() {
			best = t
		}
	}
	if best.gains == nil || !best.gains.Beats(x.best.gains) {
		return false
	}
	x.best = best
	x.moves++
	return true
}

// termsOf returns the local terms of the positions by a graph, in the memory of those before.
func (x *chooser) termsOf(g *Graph) [][]ranking.Boost {
	if x.terms == nil {
		x.terms = make([][]ranking.Boost, len(x.positions))
	}
	parallel.TasksWith(len(x.positions), func() func(int) {
		sum, boosts := NewSum(x.c.n), []ranking.Boost(nil)
		return func(i int) {
			boosts = g.BoostsTo(boosts[:0], x.positions[i].Recent, sum)
			x.terms[i] = append(x.terms[i][:0], boosts...)
		}
	})
	return x.terms
}

// unit returns the mean largest score of the positions over their mean largest local term.
func (x *chooser) unit(terms [][]ranking.Boost) float64 {
	scores, sum := 0.0, 0.0
	for i := range x.positions {
		if top := x.positions[i].Top; len(top) > 0 {
			scores += math.Abs(float64(top[0].Score))
		}
		most := float32(0)
		for _, b := range terms[i] {
			most = max(most, b.Score)
		}
		sum += float64(most)
	}
	if sum == 0 {
		return 0
	}
	return scores / sum
}

// gains returns the gain of every position, for each weight of the local terms. terms may be nil:
// there are none.
func (x *chooser) gains(terms [][]ranking.Boost, weights []float64) []Gains {
	out := make([]Gains, len(weights))
	for w := range out {
		out[w] = make(Gains, len(x.positions))
	}
	parallel.TasksWith(len(x.positions), func() func(int) {
		term := make([]float32, x.c.n)        // zero between positions
		places := make([]int, len(weights)+1) // one for each weight, and one more
		return func(i int) {
			var boosts []ranking.Boost
			if terms != nil {
				boosts = terms[i]
			}
			for _, b := range boosts {
				term[b.Item] = b.Score
			}
			x.positions[i].places(places, term, weights)
			for w := range weights {
				out[w][i] = Gain(places[w])
			}
			for _, b := range boosts {
				term[b.Item] = 0
			}
		}
	})
	return out
}

// places stores the place of the target, from 1, for each weight of the local term. The weights
// rise. Places beyond longList are at least that far off: an item of Top is above the target with
// its term too, since no term is negative.
//
// With the weight w an item of score s and term t is above the target, of score y and term u, if
// w (t − u) > y − s. So it is above for all weights on one side of one number.
func (p *Position) places(out []int, term []float32, weights []float64) {
	clear(out)
	u := float64(term[p.Target.Item])
	for _, s := range p.Top {
		if term[s.Item] == 0 && s.Item != p.Target.Item {
			p.count(out, s, -u, weights)
		}
	}
	for _, s := range p.Near {
		if t := term[s.Item]; t != 0 && s.Item != p.Target.Item {
			p.count(out, s, float64(t)-u, weights)
		}
	}
	place := 1
	for w := range weights {
		place += out[w]
		out[w] = place
	}
}

// count adds to out an item above the target whose term is larger by d, from the first weight with
// which it is above, and takes it off from the first one with which it is no longer.
func (p *Position) count(out []int, s ranking.Scored, d float64, weights []float64) {
	c := float64(p.Target.Score) - float64(s.Score)
	switch {
	case d > 0:
		out[first(weights, c/d)]++
	case d < 0 && c < 0: // else it is above with no weight
		out[0]++
		out[first(weights, c/d)]--
	case d == 0 && (c < 0 || c == 0 && s.Item < p.Target.Item):
		out[0]++
	}
}

// first is the index of the first of rising weights that is no less than x.
func first(weights []float64, x float64) int {
	last := len(weights) - 1
	if last < 0 || weights[last] < x { // as a rule: most terms are small
		return last + 1
	}
	if weights[0] >= x {
		return 0
	}
	at := 0 // of a lower one
	for n := len(weights); n > 1; {
		half := n / 2
		if weights[at+half] < x {
			at += half
			n -= half
		} else {
			n = half
		}
	}
	return at + 1
}

// gainAt holds the value of each place up to longList.
var gainAt = func() (g [longList + 1]float64) {
	for place := 1; place <= longList; place++ {
		g[place] = 1 / math.Log2(float64(place)+1)
		if place > shortList {
			g[place] *= longShare
		}
	}
	return g
}()

// Gain is the value of a target at a place.
func Gain(place int) float64 {
	if place > longList {
		return 0
	}
	return gainAt[place]
}
