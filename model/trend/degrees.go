package trend

import (
	"maps"
	"math"
	"slices"
)

// Degrees are what the numbers of users d_i of the items of a training say of an item that was not
// in it.
type Degrees struct {
	Events float64 // Σ d_i
	bins   []bin
}

// bin are items with about equal numbers of users.
type bin struct {
	items, mean, log float64 // log: of the mean
}

// DegreesOf sums up the degrees of items. Those of 0 count as 1.
func DegreesOf(items int, degree func(item int32) int64) (d Degrees) {
	const perE = 20 // bins for each factor of e
	bins := map[float64]bin{}
	for i := range int32(items) {
		users := float64(max(degree(i), 1))
		d.Events += users
		at := math.Round(perE * math.Log(users))
		bins[at] = bin{items: bins[at].items + 1, mean: bins[at].mean + users}
	}
	for _, at := range slices.Sorted(maps.Keys(bins)) {
		b := bins[at]
		b.mean /= b.items
		b.log = math.Log(b.mean)
		d.bins = append(d.bins, b)
	}
	return d
}

// doubt is the constant c of [Degrees.Expected], chosen on new items and validation users of three
// data sets. Without it, items of one or two users cost the lists more than they bring: their rows
// point at these users.
const doubt = 7.0

// nearVariance is the variance of ln d about ln near, chosen likewise.
const nearVariance = 4

// Expected returns the number of users that an item would have in the training, from m ≥ 1 users so
// far, and the events on any items since the first of them. near is the number that items of like
// content have, 0 if nothing is known of it.
//
//	D̂ = E · m²/(m² + c),     E = Σ d_i p_i / Σ p_i,     p_i = d_i^(m−1) e^(−d_i T)
//
// T is events/Σ d_i. E is the posterior mean of a rate D if m − 1 is Poisson of the mean D·T, and D
// is that of any item of the training before anything is seen. The first user says nothing: an item
// appears by one. m/T would have heavy tails: of many new items with few users each, those are on
// top that chance has given two users in a moment.
//
// With near, p_i has the factor e^(−(ln d_i − ln near)²/2σ²), there is no doubt, D̂ = E, since the
// item's row does not come from these few users alone, and m may be 0.
func (d Degrees) Expected(users, events, near float64) float64 {
	t, prior := events/d.Events, math.Log(max(near, 1))
	logs, most := make([]float64, len(d.bins)), math.Inf(-1)
	for i, b := range d.bins {
		logs[i] = max(users-1, 0)*b.log - t*b.mean
		if near > 0 {
			logs[i] -= (b.log - prior) * (b.log - prior) / (2 * nearVariance)
		}
		most = max(most, logs[i])
	}
	var sum, of float64
	for i, b := range d.bins {
		p := b.items * math.Exp(logs[i]-most)
		sum += p
		of += p * b.mean
	}
	if near > 0 {
		return of / sum
	}
	return of / sum * users * users / (users*users + doubt)
}
