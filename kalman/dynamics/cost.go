package dynamics

import (
	"runtime"

	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/kalman"
)

// Shape holds the numbers on which the cost of learning depends.
type Shape struct {
	Items, Rank int
	Bands       []kalman.Band
	Users       int  // with two events or more
	Events      int  // of these
	Longest     int  // events of the longest history
	Weighted    bool // not all weights are 1
	Measured    int  // events that the noise is learned from, see [Measured]
	Timed       bool // events of a user come at several times, so that a drift is chosen
}

// Measured is the number of events that [LearnNoise] learns from, given the events of each user.
func Measured(events []int) int {
	n := min(len(events), noiseUsers)
	sum := 0
	for s := range n {
		sum += min(events[s*len(events)/n], noiseMeasurements)
	}
	return sum
}

// Factors of the work below, as measured.
const (
	// foldOverhead stands for the preparation of the steps of a fold, and for tables larger than
	// the caches of the processor that was measured.
	foldOverhead = 2
	emSteps      = 9   // of EM for a coordinate
	driftSteps   = 400 // of EM for each of driftCoordinates, for all drifts

	// A row of a table larger than cached bytes takes farRow times as long.
	cached = 32e6
	farRow = 25

	longStrips = float64(stripCoordinates) / walkedTogether
)

// RegressionCost is what [NewMoments], [Moments.Project], [Normal.Solve] and [Readout.RowsTo] take.
// The read-out and the rows that it gives are kept.
func (s *Shape) RegressionCost() []cost.Stage {
	n, k, r := float64(s.Items), float64(s.Rank), float64(len(s.Bands))
	// Nearly all events are targets.
	users := sampleOf(s.Users, s.Events, RegressionTargets).taken
	events, rows := float64(min(s.Events, RegressionTargets)), r*k+1
	processors := float64(runtime.GOMAXPROCS(0))
	strips := float64((s.Rank + foldWidth - 1) / foldWidth)

	moments := 4*events + 8*n*(r+1)
	alike := !s.Weighted // the states fade alike from event to event
	if s.Weighted {
		moments += 4 * events
	}
	for _, b := range s.Bands {
		alike = alike && b.HalfLife == 0 && b.Rho <= largestShiftRho
		if b.HalfLife > 0 {
			moments += 4 * events
		}
	}
	normal := 8 * rows * (rows + k)
	pairs := r * (r + 1) / 2

	moved := strips*128*n*(4*r+2*pairs) + 16*k*k*(pairs+r)*max(1, n/projectItems)
	tables := 4*n*min(k, projectWidth)*(r+1) +
		processors*128*(n*(r+2)+float64(max(s.Longest, batchEvents)))
	folds, products := r+pairs, n*(pairs-r/2+r)
	if alike && shiftPays(s.Items, s.Rank, len(s.Bands), users, int(events)) {
		tables = strips*128*(r+1)*(n+2*shiftUsers) + 4*r*k*(2*shiftUsers+r*k) + 20*r*shiftEvents
		folds, products = r, n*(r+1)+float64(users)*pairs
	}
	sums := foldOverhead*strips*events*folds/cost.Gather + 2*k*k*products/cost.Single +
		moved/cost.Stream
	solve := (rows*rows*rows/3+2*rows*rows*k)/cost.Double + 24*rows*(rows+k)/cost.Stream
	responses := 2 * n * k * k * r / cost.Single
	kept := 4*r*k*k + 4*n*r*k
	return []cost.Stage{
		{Name: "dynamics: sums", Seconds: sums, Peak: moments + normal + tables,
			Kept: moments + normal},
		{Name: "dynamics: regression", Seconds: solve, Peak: normal + 8*r*k*k,
			Kept: 8*r*k*k - normal - moments},
		{Name: "dynamics: rows", Seconds: responses, Peak: 4*r*k*k + kept, Kept: kept - 8*r*k*k},
	}
}

// NoiseCost is what [LearnNoise], [Noise.Pool] and [LearnTaste] take. What they keep is little.
func (s *Shape) NoiseCost() cost.Stage {
	measured, strips := float64(s.Measured), float64((s.Rank+stripCoordinates-1)/stripCoordinates)
	steps := emSteps * measured * float64(s.Rank)
	if s.Timed {
		steps += driftSteps * measured * driftCoordinates
	}
	// For the noise, and in longer strips for its scale and for the uncertainty of tastes.
	rows := (1 + 2*longStrips) * float64(len(s.Bands)+1) * measured * strips
	if 4*float64(s.Items)*float64(s.Rank)*float64(len(s.Bands)) > cached {
		rows *= farRow
	}
	scratch := 8 * measured * (stripCoordinates + 2)
	return cost.Stage{
		Name: "dynamics: noise", Seconds: steps/cost.Divide + rows/cost.Gather,
		Peak: float64(runtime.GOMAXPROCS(0)) * scratch,
	}
}
