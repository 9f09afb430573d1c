package trend

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model/local"
)

// shares are the candidates of [ChooseGain], as parts of the likeliest gain.
var shares = []float64{0.125, 0.25, 0.5, 0.75, 1, 1.5}

// ChooseGain returns the gain that puts the targets of choices at the best places, out of parts of
// the likeliest one, or 0 if none is better than that by local.Certainty. Likelihood by itself is
// no measure of lists. Where users seldom take what the model lists, trends make all other items
// likelier and the lists worse.
func ChooseGain(choices []Choice, likeliest float64) float64 {
	if likeliest == 0 || len(choices) == 0 {
		return 0
	}
	users := make([]int32, len(choices))
	for t := range choices {
		users[t] = choices[t].User
	}
	plain, best, most := places(choices, 0), 0.0, 0.0
	for _, share := range shares {
		gain := share * likeliest
		values := places(choices, gain)
		mean := 0.0
		for t := range values {
			values[t] -= plain[t]
			mean += values[t] / float64(len(values))
		}
		if mean > most && mean > local.Certainty*stat.ErrBy(users, values, mean) {
			best, most = gain, mean
		}
	}
	return best
}

// places are the values of the targets' places with a gain.
func places(choices []Choice, gain float64) []float64 {
	values := make([]float64, len(choices))
	parallel.TasksWith(len(choices), func() func(t int) {
		var scores []float32
		return func(t int) {
			c := &choices[t]
			scores = append(scores[:0], c.Scores...)
			for i, g := range c.Trends {
				if !math.IsInf(float64(scores[i]), -1) {
					scores[i] += float32(gain * float64(g))
				}
			}
			values[t] = local.Gain(ranking.Of(scores, c.Target, nil))
		}
	})
	return values
}
