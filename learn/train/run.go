package train

import (
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// fewUsers is the number of users below which [Split] holds none out: a tenth of them would be one
// or none.
const fewUsers = 20

// Result is a finished training.
type Result struct {
	Model *model.Model
	Basis *spectral.Basis // of the model, with the report of the solver

	// Choice tells how the constants of the dynamics were chosen; nil: they are those of the
	// configuration.
	Choice *fit.Choice

	Live Live
}

// Run trains a model on the training users of p: the solver finds the basis of their item graph,
// then the dynamics are learned from them, the noise from the validation users, and the trends and
// the repeats from the newest events. The errors are those of [Config.Check], spectral.Solve and
// model.New.
func Run(p *dataset.Partition, cfg Config) (*Result, error) {
	basis, err := Solve(p, cfg)
	if err != nil {
		return nil, err
	}
	return Learn(p, cfg, basis)
}

// Solve is the first half of [Run]: the basis of the item graph.
func Solve(p *dataset.Partition, cfg Config) (*spectral.Basis, error) {
	if err := cfg.Check(len(p.Items)); err != nil {
		return nil, err
	}
	if err := cfg.CheckHistories(p); err != nil { // what [Learn] would find out after the basis
		return nil, err
	}
	elapsed := cfg.stopwatch()
	opt := cfg.SolverOptions(len(p.Items))
	opt.Progress = cfg.Progress.of(StageSolve)
	basis, err := spectral.Solve(Incidence(p), opt)
	if err != nil {
		return nil, err
	}
	basis.Report.Elapsed = elapsed()
	return basis, nil
}

// Learn is the second half of [Run]: the model on a basis that [Solve] found for the same training
// users. The basis of the result has the rank of the model.
func Learn(p *dataset.Partition, cfg Config, basis *spectral.Basis) (*Result, error) {
	r, err := learn(p, cfg, basis, int64(p.Train.Len()), LearnFrom(p))
	if err != nil {
		return nil, err
	}
	return r, r.setLive(p, cfg.Progress)
}

// learn is [Learn] for a number of training users that h stands for.
func learn(
	p *dataset.Partition, cfg Config, basis *spectral.Basis, users int64, h fit.Histories,
) (*Result, error) {
	spec := cfg.Spec
	spec.TrainUsers, spec.Provenance = users, cfg.provenance(basis, nil)
	r := &Result{Basis: basis}
	h.Progress = cfg.Progress
	h.Candidates = cfg.Candidates(basis.K)
	h.Chosen = func(c *fit.Choice) map[string]string {
		r.Choice, r.Basis = c, basis.Prefix(c.Rank)
		return cfg.provenance(r.Basis, c)
	}
	var err error
	if r.Model, err = model.New(spec, basis, p.Items, h); err != nil {
		return nil, err
	}
	return r, nil
}

// setLive gives the model the constants of trends and of repeats that the training events tell.
func (r *Result) setLive(p *dataset.Partition, progress Progress) (err error) {
	if r.Live, err = FindLive(p, r.Model, progress); err != nil {
		return err
	}
	return r.Model.SetLive(r.Live.Trend, r.Live.Again)
}

// Split draws the roles of the users of a training: of 20 users or more a tenth is for validation,
// the others are for training. The same seed gives the same roles.
func Split(users int, seed uint64) dataset.Split {
	split := dataset.SeededSplit(users, seed)
	for u, role := range split {
		if role != dataset.Validation || users < fewUsers {
			split[u] = dataset.Train
		}
	}
	return split
}
