package train

import (
	"time"

	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// Config says how a model is trained. The zero value of every field but Spec is usable.
type Config struct {
	// Spec holds the constants of the model; [Run] fills in TrainUsers and Provenance.
	Spec model.Spec

	// Rank is the number of eigenvectors to keep. 0: [DefaultRank].
	Rank int

	// ChooseRank, ChooseRidge and ChooseBands let [Learn] choose the rank, the ridge and the bands
	// of learned dynamics on the validation users. Rank is then the largest rank that is tried,
	// Spec.Dynamics.Ridge the ridge that is tried first, and the last of Spec.Dynamics.Bands is
	// left out where it does not help.
	ChooseRank, ChooseRidge, ChooseBands bool

	// CutRank lowers a Rank above the number of items to that number. Otherwise such a rank is a
	// fault.
	CutRank bool

	// one of the solvers of package spectral; "": spectral.SolverAuto
	Solver string
	// residual that an exact solver must reach; 0: spectral.DefaultTolerance
	Tolerance float64
	Nystrom   spectral.NystromOptions // for spectral.SolverNystrom
	Seed      uint64                  // of the solver's start vectors and samples

	// Origin is the source of the events, for the provenance of the model. nil: the model has no
	// provenance.
	Origin *Origin

	// Notes, if set, returns further entries of the provenance, such as a command.
	Notes func(basis *spectral.Basis) map[string]string

	// Progress, if set, is told of the work.
	Progress Progress

	// Clock, if set, tells the time, for the report of the solver on how long it took.
	Clock func() time.Time
}

// stopwatch starts to measure; the function that it returns tells the time since, 0 without a
// clock.
func (c *Config) stopwatch() (elapsed func() time.Duration) {
	if c.Clock == nil {
		return func() time.Duration { return 0 }
	}
	begin := c.Clock()
	return func() time.Duration { return c.Clock().Sub(begin) }
}

// Progress is told how much of a stage of the work is done. A stage begins with its first call; a
// total of 0 means that the work is not known. It may be called from several goroutines.
type Progress func(stage string, done, total int)

// The stages of a training. Package model has further ones.
const (
	StageSolve   = "solving"
	StageTrends  = "choosing trends"
	StageCompare = "comparing models"
	StageRead    = "reading histories"
	StageWrite   = "writing the model" // announced by the caller, see [Plan.Announced]
)

// of returns the progress of one stage, and announces it.
func (p Progress) of(stage string) func(done, total int) {
	if p == nil {
		return nil
	}
	p(stage, 0, 0)
	return func(done, total int) { p(stage, done, total) }
}

// CheckHistories returns a fault if the model is to learn dynamics and no training user has two
// events.
func (c *Config) CheckHistories(p *dataset.Partition) error {
	if !c.Learned() {
		return nil
	}
	return dynamics.Predictable(Each(&p.Train))
}

// Learned tells whether the model has learned dynamics.
func (c *Config) Learned() bool { return c.Spec.Dynamics.Kind == model.DynamicsLearned }

// RankFor returns the rank for a catalogue of items.
func (c *Config) RankFor(items int) int {
	switch {
	case c.Rank == 0:
		return DefaultRank(c.Spec.Dynamics.Kind, items)
	case c.CutRank:
		return min(c.Rank, items)
	}
	return c.Rank
}

// Candidates returns what [Learn] chooses from on a basis of a rank.
func (c *Config) Candidates(rank int) (f fit.Candidates) {
	if !c.Learned() {
		return f
	}
	if c.ChooseRank {
		f.Ranks = smallerRanks(rank)
	}
	if c.ChooseRidge {
		f.Ridges = otherRidges(c.Spec.Dynamics.Ridge)
	}
	f.FewerBands = c.ChooseBands && len(c.Spec.Dynamics.Bands) > 1
	return f
}

// Check returns a fault of Rank if no graph of the number of items has the configured rank.
func (c *Config) Check(items int) error {
	return spectral.CheckRank(c.RankFor(items), items)
}

// SolverOptions returns the options of spectral.Solve for a catalogue of items.
func (c *Config) SolverOptions(items int) spectral.Options {
	return spectral.Options{
		Graph: spectral.Graph{
			Kind: c.Spec.Graph, DegreeExponent: c.Spec.DegreeExponent, Window: c.Spec.Window,
		},
		Rank:      c.RankFor(items),
		Solver:    c.Solver,
		Tolerance: c.Tolerance,
		Nystrom:   c.Nystrom,
		Seed:      c.Seed,
	}
}
