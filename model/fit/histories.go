package fit

import (
	"fmt"
	"iter"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model/local"
)

// Histories are the data that a model learns from, besides the basis. Item indices are below the
// number of items.
type Histories struct {
	// Train yields the histories of the training users, whose events made the basis. Each pass
	// yields the same, and each history lasts until the next. nil stands for none. Histories are
	// read one at a time, since all together can be larger than the rest of the memory. They are
	// read only for learned dynamics, or if there are few validation users.
	Train iter.Seq[kalman.History]

	// Validation holds histories of users whose events are not in the basis. P_0 and the noise are
	// learned from them; the candidates and the constants of the local term are chosen on them.
	Validation []kalman.History

	// model.New chooses among the candidates on the validation users, and cuts the basis to the
	// rank. With none, or too few validation users, the model is as given.
	Candidates Candidates

	// KeepLocal takes the constants of the local term and the weight of popularity as they are,
	// and chooses none.
	KeepLocal bool

	// Chosen, if not nil, is called with the choice of constants, if there is one. What it
	// returns is added to the provenance, in the place of entries with the same keys.
	Chosen func(c *Choice) (provenance map[string]string)

	// Progress, if not nil, is called with the progress in a stage of learning dynamics. It must be
	// safe for concurrent use.
	Progress func(stage string, done, total int)

	// Sums, if not nil, stand for what model.New takes of the training users, whose histories lie
	// elsewhere: Train is nil. There must be some validation users then, see [FewSequences], since
	// nobody can stand in for them.
	Sums *Sums

	counts *local.Successions // of the training users; nil: not yet counted
}

// Sums are what a model with learned dynamics takes of its training users besides the basis.
type Sums struct {
	// Normal has the regression of the dynamics, for the bands and positions of the Spec and the
	// encoder rows d^{−t/2} u in float32.
	Normal *dynamics.Normal

	// Successions are the counts of the local term; nil if the Spec has no local term.
	Successions *local.Successions
}

// successions returns the counts of the local term, of items with these numbers of users.
func (h *Histories) successions(degrees []int64, neighbours int) *local.Successions {
	if h.counts == nil && h.Sums != nil {
		h.counts = h.Sums.Successions
	}
	if h.counts == nil {
		h.counts = local.Count(len(degrees), degrees, h.Train, neighbours)
	}
	return h.counts
}

// checkSums returns a fault if sums are given without the validation users that they need.
func (h *Histories) checkSums() error {
	if h.Sums == nil || len(h.Validation) >= FewSequences {
		return nil
	}
	return fault.New("Validation", len(h.Validation),
		fmt.Sprintf("at least %d users to learn the noise from", FewSequences))
}

// stage returns Progress for one stage, or nil.
func (h *Histories) stage(stage string) func(done, total int) {
	if h.Progress == nil {
		return nil
	}
	return func(done, total int) { h.Progress(stage, done, total) }
}

// The stages of Histories.Progress.
const (
	StageLearn  = "learning dynamics" // sums over the events
	StageChoose = "choosing the rank" // and the ridge, and the bands
	StageFit    = "fitting dynamics"  // the regression and its read-out
	StageNoise  = "learning noise"
	StageLocal  = "choosing the local term"
)

// FewSequences is the number of validation users below which the noise is learned from the training
// users as well. Their innovations are a little too small, since the read-out was fitted to them.
const FewSequences = 20

// normal returns the sums of the regression over the training users, for the encoder rows e.
func (h *Histories) normal(x *Items, spec *Spec, e []float32) (*dynamics.Normal, error) {
	if h.Sums != nil {
		if s := h.Sums.Normal; s.R != len(spec.Bands) || s.K != x.K {
			panic(fmt.Sprintf("fit: sums of %d bands and rank %d for %d and %d", s.R, s.K,
				len(spec.Bands), x.K))
		}
		return h.Sums.Normal, nil
	}
	moments, err := dynamics.NewMoments(x.N, h.Train, dynamics.Options{
		Bands: spec.Bands, Positions: int(spec.Positions), Targets: dynamics.RegressionTargets,
	})
	if err != nil {
		return nil, err
	}
	return moments.Project(e, x.K, h.stage(StageLearn)), nil
}
