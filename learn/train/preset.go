package train

import (
	"math"

	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/local"
)

// PaperRank is the default rank k of the paper's models.
const PaperRank = 256

// quickWork bounds n·k² for n items and rank k, to which the time of a training is nearly
// proportional. It is a training of some 20 s on two cores. A bound of 4.5e9 cost 3 % of the
// NDCG@10 of a catalogue of 20,000 items, and nothing on one of 16,000.
const quickWork = 9e9

// QuickRank returns [DefaultRank], lowered for a large catalogue so that a training takes seconds.
// The rank never falls below [PaperRank]. A larger rank may rank a little better.
func QuickRank(dynamics string, items int) int {
	rank := DefaultRank(dynamics, items)
	if quick := int(math.Sqrt(quickWork / float64(items))); rank > quick {
		return min(rank, max(quick, PaperRank))
	}
	return rank
}

// Bounds of the default rank of learned dynamics.
const (
	leastRank   = 256
	largestRank = 1024
)

// smallerRanks returns the ranks that are tried below the rank of a basis, ascending: powers of
// two, none of them next to that rank.
func smallerRanks(rank int) (ranks []int) {
	for r := smallestChoice; 4*r <= 3*rank && r < largestRank; r *= 2 {
		ranks = append(ranks, r)
	}
	return ranks
}

// smallestChoice is the smallest rank that is tried.
const smallestChoice = 128

// otherRidges returns the ridges that are tried beside a first one, ascending.
func otherRidges(first float64) []float64 {
	const step = 3
	return []float64{first / step / step, first / step, first * step, first * step * step}
}

// Recommended returns the constants of learned dynamics that are good on all kinds of data;
// docs/accuracy.md tells on which. TrainUsers and Provenance are left to [Run].
func Recommended() model.Spec {
	s := model.DefaultSpec()
	s.DegreeExponent, s.DegreeRescale, s.Window = 0.8, 0.6, 40
	s.Dynamics = model.DynamicsSpec{
		Kind:      model.DynamicsLearned,
		Bands:     []kalman.Band{{Rho: 0}, {Rho: 0.5}, {Rho: 0.87}, {Rho: 0.98}},
		Ridge:     1,
		Positions: 200,
		Deviation: true,
	}
	s.Local = local.Default()
	return s
}

// Paper returns the constants of the paper's GS-IMC and BGS-IMC. TrainUsers and Provenance are left
// to [Run].
func Paper() model.Spec { return model.DefaultSpec() }

// Preset returns [Recommended] for model.DynamicsLearned and [Paper] for model.DynamicsNone.
func Preset(dynamics string) model.Spec {
	if dynamics == model.DynamicsLearned {
		return Recommended()
	}
	return Paper()
}

// DefaultRank returns the rank k of a model with dynamics of the given kind for a catalogue of
// items. Learned dynamics take a quarter of the items, within 256 and 1024: a larger catalogue
// needs more coordinates to tell its items apart. A smaller rank may rank better all the same, see
// Config.ChooseRank. Other models take [PaperRank]. No rank is above the number of items.
func DefaultRank(dynamics string, items int) int {
	if dynamics == model.DynamicsLearned {
		return min(items, max(items/4, leastRank), largestRank)
	}
	return min(items, PaperRank)
}
