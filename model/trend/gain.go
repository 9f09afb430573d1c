package trend

import (
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/model/local"
)

// Candidates of [Choose]: powers, and parts of the likeliest gain.
var (
	powers = []float64{0, 0.25, 0.5, 1}
	shares = []float64{0, 0.125, 0.25, 0.5, 0.75, 1, 1.5}
)

// Choose returns the power β and the gain c, out of parts of the likeliest one, with which the
// scores e^{β g} ŷ + c g put the targets of choices at the best places. Both are 0 if none are
// better than that by local.Certainty. Likelihood by itself is no measure of lists. Where users
// seldom take what the model lists, trends make all other items likelier and the lists worse.
func Choose(choices []Choice, likeliest float64) (power, gain float64) {
	if likeliest == 0 || len(choices) == 0 {
		return 0, 0
	}
	users := make([]int32, len(choices))
	for t := range choices {
		users[t] = choices[t].User
	}
	values := places(choices, likeliest)
	most, deviations := 0.0, make([]float64, len(choices))
	for at := range values {
		mean := 0.0
		for t := range deviations {
			deviations[t] = values[at][t] - values[0][t]
			mean += deviations[t] / float64(len(deviations))
		}
		if mean > most && mean > local.Certainty*stat.ErrBy(users, deviations, mean) {
			most = mean
			power, gain = powers[at/len(shares)], shares[at%len(shares)]*likeliest
		}
	}
	return power, gain
}

// places are the values of the targets' places: with each power, and of each share of the likeliest
// gain with it.
func places(choices []Choice, likeliest float64) [][]float64 {
	values := make([][]float64, len(powers)*len(shares))
	for at := range values {
		values[at] = make([]float64, len(choices))
	}
	parallel.Tasks(len(choices), func(t int) {
		for p, power := range powers {
			for share, rank := range choices[t].ranks(power, likeliest) {
				values[p*len(shares)+share][t] = local.Gain(rank)
			}
		}
	})
	return values
}

// ranks are the ranks of the target with a power, and with each share of the likeliest gain.
func (c *Choice) ranks(power, likeliest float64) []int {
	score := func(i int) (lifted, g float64) {
		g = float64(c.Trends[i])
		return float64(c.Scores[i]) * exp(power*g), likeliest * g
	}
	ranks, of := make([]int, len(shares)), make([]float64, len(shares))
	lifted, g := score(int(c.Target))
	for at, share := range shares {
		ranks[at], of[at] = 1, lifted+share*g
	}
	for i := range c.Scores {
		lifted, g := score(i)
		for at, share := range shares {
			if y := lifted + share*g; y > of[at] || y == of[at] && i < int(c.Target) {
				ranks[at]++
			}
		}
	}
	return ranks
}
