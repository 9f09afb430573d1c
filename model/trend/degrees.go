package trend

import "math"

// Degrees are what the numbers of users d_i of the items of a training say of an item that was not
// in it.
type Degrees struct {
	Events  float64 // Σ d_i
	typical float64 // d̄ = exp(mean of ln d_i)
}

// DegreesOf sums up the degrees of items. Those of 0 count as 1.
func DegreesOf(items int, degree func(item int32) int64) (d Degrees) {
	logs := 0.0
	for i := range int32(items) {
		users := float64(max(degree(i), 1))
		d.Events += users
		logs += math.Log(users)
	}
	d.typical = math.Exp(logs / float64(max(items, 1)))
	return d
}

// The constants a and b of [Degrees.Expected], chosen on new items and validation users of two data
// sets. With b = a the mean of the prior is d̄, and items of one or two users cost the lists more
// than they bring: their rows point at these users.
const (
	priorUsers    = 0.5
	priorExposure = 2
)

// Expected returns the number of users that an item would have in the training, from m ≥ 1 users so
// far, and the events on any items since the first of them.
//
//	D̂ = (m − 1 + a)/(T + b/d̄),     T = events/Σ d_i
//
// This is the posterior mean of a rate D if m − 1 is Poisson of the mean D·T, and D is
// Gamma(a, b/d̄) before anything is seen. The first user says nothing: an item appears by one. So
// an item has a quarter of the users of the typical one at first. m/T would have heavy tails: of
// many new items with few users each, those are on top that chance has given two users in a moment.
func (d Degrees) Expected(users, events float64) float64 {
	return (users - 1 + priorUsers) / (events/d.Events + priorExposure/d.typical)
}
