package train

import (
	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
)

// choiceStage is the name of the stage that chooses the rank, the ridge and the bands.
const choiceStage = "dynamics: choice"

// usualRidges is the number of ridges that are tried as a rule, at half of the largest rank.
const usualRidges = 3

// choiceCost is the cost of trying the candidates.
func choiceCost(
	p *dataset.Partition, shape *dynamics.Shape, of *fit.Candidates, s *local.Spec,
) cost.Stage {
	c := choiceShape{
		positions: float64(fit.ChoicePositions(Histories(&p.Validation), len(p.Items))),
		items:     float64(shape.Items), bands: float64(len(shape.Bands)),
		near: float64(2 * s.Neighbours * s.Events),
	}
	k := float64(shape.Rank)
	seconds := c.seconds(k)
	for _, rank := range of.Ranks {
		seconds += c.seconds(float64(rank))
	}
	if len(of.Ridges) > 0 {
		seconds += usualRidges * c.seconds(k/2)
	}
	if of.FewerBands {
		fewer := c
		fewer.bands--
		seconds += fewer.seconds(k / 2)
	}
	kept := 0.0
	peak := c.candidateBytes(k)
	if s.Neighbours > 0 {
		counting := countingCost(shape.Events, shape.Items, s)
		seconds += counting.Seconds
		kept, peak = counting.Kept, max(counting.Peak, counting.Kept+peak)
	}
	return cost.Stage{Name: choiceStage, Seconds: seconds, Peak: peak, Kept: kept}
}

// choiceShape holds the numbers on which the cost of a candidate depends, besides its rank.
type choiceShape struct{ positions, items, bands, near float64 }

// seconds is the time of a candidate of rank k.
func (c *choiceShape) seconds(k float64) float64 {
	const (
		scoreBytes = 20  // moved for each score
		nearSteps  = 5   // for each item near a position, for all weights of the local term
		overhead   = 2.5 // of the positions, as measured
	)
	rows := c.bands*k + 1
	equations := (rows*rows*rows/3+2*rows*rows*k)/cost.Single + 32*rows*(rows+k)/cost.Stream
	return equations + overhead*(2*c.positions*k*(c.items+c.bands*k)/cost.Single+
		scoreBytes*c.positions*c.items/cost.Stream+
		c.positions*nearSteps*c.near/4/cost.Scatter)
}

// candidateBytes is the memory of the candidates, beside that of the normal equations and of the
// counts: a copy of the equations that is solved, another of a smaller rank or of fewer bands, the
// read-outs of the candidates, and the sample.
func (c *choiceShape) candidateBytes(k float64) float64 {
	const (
		copies    = 1.8     // of the normal equations
		readouts  = 2       // of the size of the largest
		scores    = 4 << 22 // at a time, or one position
		itemBytes = 8       // in the lists of a position, and in its local term
	)
	rows := c.bands*k + 1
	sample := c.positions * (4*k*(c.bands+1) + itemBytes*(2*local.TopLength+c.near))
	return copies*8*rows*(rows+k) + readouts*8*c.bands*k*k + sample + max(scores, 4*c.items)
}

// countingCost is the cost of counting a local term from events.
func countingCost(events, items int, s *local.Spec) cost.Stage {
	const (
		eventBytes = 8  // of the index of the events
		pairBytes  = 12 // of a counted pair, of which there are two for each neighbour
		sorting    = 25 // the time of a pair, in additions
	)
	kept := 2 * pairBytes * float64(items) * float64(s.Neighbours)
	return cost.Stage{
		Seconds: sorting * 2 * local.MaxGap * float64(events) / cost.Scatter,
		Peak:    eventBytes*float64(events) + kept, Kept: kept,
	}
}
