package trend

import "math"

// expSteps is the number of steps by which 2^x is in a table, between two powers of 2.
const expSteps = 64

// expTable has 2^(j/expSteps).
var expTable = func() (t [expSteps]float64) {
	for j := range t {
		t[j] = math.Exp2(float64(j) / expSteps)
	}
	return t
}()

// exp is e^x for x up to 700, to 12 digits, and 0 below e^−700: a softmax over all items spends
// most of its time in it, and math.Exp takes longer. With n the integer next to x·expSteps/ln 2,
//
//	e^x = 2^(n/expSteps) · e^r          |r| ≤ ln 2/(2·expSteps)
//
// and five terms of the series of e^r are enough, added in an order in which few wait for others.
func exp(x float64) float64 {
	const (
		least = -700
		round = 3 << 51 // a sum with it has no digits behind the point
		step  = math.Ln2 / expSteps
	)
	if !(x >= least) {
		return 0
	}
	shifted := x*(1/step) + round
	n := int64(math.Float64bits(shifted)<<12) >> 12 // what round adds is in the highest digits
	r := x - (shifted-round)*step
	square := r * r
	series := (1 + r) + square*((1.0/2+r*(1.0/6))+square*(1.0/24))
	power := math.Float64bits(expTable[n&(expSteps-1)]) + uint64(n>>6)<<52
	return math.Float64frombits(power) * series
}
