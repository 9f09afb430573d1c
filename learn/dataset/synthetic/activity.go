package synthetic

import (
	"math"
	"math/rand/v2"
)

const (
	// minEvents is the fewest events of a user, where the total allows it.
	minEvents = 3

	// activitySpread is σ of the logarithm of activity.
	activitySpread = 1.1

	// fraction is the number of binary places in which shares are kept, so
	// that they add up exactly.
	fraction = 20
)

// activity deals the events out to the users: everyone gets base events, and
// the rest is shared in proportion to lognormal weights, but nobody gets more
// than there are items. Counts come user after user, without a list of them.
type activity struct {
	weights weightStream
	base    int64   // events for everybody
	most    int64   // events a user can get beyond base
	rest    int64   // events beyond base, of all users
	rate    float64 // events for each unit of weight
	dealt   int64   // shares of the users so far, with fraction binary places
}

func newActivity(cfg Config) *activity {
	base := min(minEvents, int64(cfg.Items), cfg.Events/int64(cfg.Users))
	a := &activity{
		base: base,
		most: int64(cfg.Items) - base,
		rest: cfg.Events - base*int64(cfg.Users),
	}
	a.findRate(cfg)
	a.weights.reset(cfg.Seed)
	return a
}

// findRate finds the rate at which the shares add up to rest. Users whose share
// would be more than most get most, which raises the rate for the others, which
// may bring more of them there: the set only grows, so this ends, and without
// very active users after the first pass.
func (a *activity) findRate(cfg Config) {
	for capped := -1; ; {
		full, open := 0, uint64(0) // users at the limit, weight of the others
		a.weights.reset(cfg.Seed)
		for range cfg.Users {
			if w := a.weights.next(); capped >= 0 && float64(w)*a.rate >= float64(a.most) {
				full++
			} else {
				open += w
			}
		}
		if full <= capped {
			return
		}
		capped = full
		if open == 0 {
			a.rate = math.Inf(1) // everybody is at the limit
			continue
		}
		a.rate = float64(a.rest-a.most*int64(full)) / float64(open)
	}
}

// next returns the number of events of the next user.
func (a *activity) next() int64 {
	share := a.most << fraction
	// Rounded up, so that the shares of all users suffice; what is too much is
	// cut off from the last users, less than a millionth of an event for each.
	if x := math.Ceil(float64(a.weights.next())*a.rate*(1<<fraction)) + 1; x < float64(share) {
		share = int64(x)
	}
	before := a.dealt >> fraction
	a.dealt = min(a.dealt+share, a.rest<<fraction)
	return a.base + a.dealt>>fraction - before
}

// weightStream gives the weights of the users, one after the other.
type weightStream struct {
	seed, user uint64
	pcg        rand.PCG
}

func (s *weightStream) reset(seed uint64) { s.seed, s.user = mix(seed^'a'), 0 }

// next returns a whole number: the last digits of math.Exp depend on the
// platform.
func (s *weightStream) next() uint64 {
	s.pcg.Seed(s.seed, mix(s.user))
	s.user++
	z := rand.New(&s.pcg).NormFloat64()
	return 1 + uint64(1024*math.Exp(activitySpread*max(-4, min(4, z))))
}
