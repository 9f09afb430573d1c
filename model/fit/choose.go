package fit

import (
	"slices"

	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model/local"
)

// worseRanks is the number of ranks, from the best one down, that end the search by being worse.
const worseRanks = 2

// chooser chooses the rank, the bands and the ridge of learned dynamics. A candidate is a read-out
// of the first bands and the first columns of the basis, without deviation, and with a local term
// of a weight of its own. It is measured by the places of the targets of a sample of positions. The
// read-out of what is chosen is solved once more, in float64.
type chooser struct {
	normal  *dynamics.Normal // of all bands and the rank of the basis
	prefix  *dynamics.Normal // of those tried last
	sample  *sample
	weigher *local.Weigher
	choice  Choice

	tell        func(done, total int) // may be nil
	done, total int
}

// candidate is a number of bands, a rank and a ridge with what they give.
type candidate struct {
	bands, rank int
	ridge       float64
	gains       local.Gains
}

// solve returns the read-out, by what is chosen from the candidates of h, if there are any. e holds
// the encoder rows, n×k. choice is nil if nothing was chosen.
func solve(
	x *Items, spec *Spec, normal *dynamics.Normal, e []float32, h *Histories,
) (r *dynamics.Readout, choice *Choice, err error) {
	c := newChooser(x, spec, normal, e, h)
	if c == nil {
		if tell := h.stage(StageFit); tell != nil {
			tell(0, 0)
		}
		r, err = normal.Solve(spec.Ridge)
		return r, nil, err
	}
	best, err := c.run(&h.Candidates, spec.Ridge)
	if err != nil {
		return nil, nil, err
	}
	c.choice.Rank, c.choice.Ridge, c.choice.Bands = best.rank, best.ridge, best.bands
	if tell := h.stage(StageFit); tell != nil {
		tell(0, 0)
	}
	r, err = c.equations(best.bands, best.rank).Solve(best.ridge)
	return r, &c.choice, err
}

// newChooser returns nil if there is nothing to choose, or too little to choose it on.
func newChooser(
	x *Items, spec *Spec, normal *dynamics.Normal, e []float32, h *Histories,
) *chooser {
	if h.Candidates.None() {
		return nil
	}
	c := &chooser{normal: normal, choice: Choice{Of: x.K}, tell: h.stage(StageChoose)}
	if c.tell != nil {
		c.tell(0, 0)
	}
	var counts *local.Successions
	if spec.Local.Neighbours > 0 {
		counts = h.successions(x.Degrees, spec.Local.Neighbours)
	}
	c.sample = newSample(x, spec, counts, h.Validation, e)
	if c.choice.Positions = len(c.sample.positions); c.choice.Positions < local.FewestPositions {
		return nil
	}
	c.weigher = local.NewWeigher(x.N, counts, spec.Local, c.sample.positions)
	return c
}

// run tries the ranks with all bands and the given ridge, then fewer bands at the best rank, and
// then ridges.
func (c *chooser) run(of *Candidates, ridge float64) (*candidate, error) {
	const ridges = 3 // that are tried as a rule
	c.total = c.normal.K
	for _, rank := range of.Ranks {
		c.total += rank
	}
	if of.FewerBands {
		c.total += c.normal.K / 2
	}
	if len(of.Ridges) > 0 {
		c.total += ridges * c.normal.K / 2
	}
	best, err := c.try(c.normal.R, c.normal.K, ridge)
	if err != nil {
		return nil, err
	}
	best = c.climbRanks(best, of.Ranks)
	if of.FewerBands {
		best = c.dropBand(best)
	}
	return c.climbRidges(best, of.Ridges), nil
}

// try measures a candidate. The error is that of a regression without a solution.
func (c *chooser) try(bands, rank int, ridge float64) (*candidate, error) {
	readout, err := c.equations(bands, rank).Approximate(ridge)
	if err != nil {
		return nil, err
	}
	c.sample.rank(readout)
	t := &candidate{bands, rank, ridge, c.weigher.Gains()}
	c.choice.Tried = append(c.choice.Tried, Tried{rank, ridge, bands, t.gains.Mean()})
	if c.done = min(c.done+rank, c.total); c.tell != nil {
		c.tell(c.done, c.total)
	}
	return t, nil
}

// equations are those of the first bands and the first columns of the basis.
func (c *chooser) equations(bands, rank int) *dynamics.Normal {
	if c.prefix == nil || c.prefix.R != bands || c.prefix.K != rank {
		c.prefix = c.normal
		if bands < c.normal.R || rank < c.normal.K {
			c.prefix = c.normal.Prefix(bands, rank)
		}
	}
	return c.prefix
}

// climbRanks tries smaller ranks than that of first, until worseRanks of them are worse than the
// best. It returns the smallest rank that is as good as the best one but for rankMargin: it serves
// faster.
func (c *chooser) climbRanks(first *candidate, ranks []int) *candidate {
	tried, best, worse := []*candidate{first}, first, 0
	for _, rank := range slices.Backward(slices.Sorted(slices.Values(ranks))) {
		if rank < 1 || rank >= first.rank {
			continue
		}
		next, err := c.try(first.bands, rank, first.ridge)
		if err != nil {
			continue // no solution: no candidate
		}
		tried = append(tried, next)
		if best.gains.Beats(next.gains) {
			worse++
		}
		if next.gains.Mean() > best.gains.Mean() {
			best, worse = next, 0
		}
		if worse == worseRanks {
			break
		}
	}
	for _, t := range slices.Backward(tried) { // from the smallest rank
		if lead, stderr := best.gains.Lead(t.gains); lead <= rankMargin*stderr {
			return t
		}
	}
	return best
}

// rankMargin is the lead over a smaller rank that counts as none, in standard errors of its mean. A
// wider margin takes ranks that fit the sample as well, and other users less well.
const rankMargin = 0.25

// dropBand returns best without its last band if that is at least as good in the mean: the band
// would cost memory, and time of each event, for nothing.
func (c *chooser) dropBand(best *candidate) *candidate {
	fewer, err := c.try(best.bands-1, best.rank, best.ridge)
	if err != nil || fewer.gains.Mean() < best.gains.Mean() {
		return best
	}
	return fewer
}

// climbRidges goes from the ridge of best to larger ones, or else to smaller ones, as long as that
// is better.
func (c *chooser) climbRidges(best *candidate, ridges []float64) *candidate {
	sorted := slices.Sorted(slices.Values(ridges))
	up := slices.DeleteFunc(slices.Clone(sorted), func(x float64) bool { return x <= best.ridge })
	down := slices.DeleteFunc(sorted, func(x float64) bool { return x >= best.ridge })
	slices.Reverse(down)
	for _, way := range [][]float64{up, down} {
		start := best
		for _, ridge := range way {
			next, err := c.try(best.bands, best.rank, ridge)
			if err != nil || !next.gains.Beats(best.gains) {
				break
			}
			best = next
		}
		if best != start {
			break
		}
	}
	return best
}
