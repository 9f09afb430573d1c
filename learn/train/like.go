package train

import (
	"strconv"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// Pattern holds the constants of a model that others are trained like.
type Pattern struct {
	Spec model.Spec

	// AskedRank is the rank that was asked for. It is above the rank of the model if its catalogue
	// had fewer items. 0: that of [DefaultRank], for any catalogue.
	AskedRank int

	// MinUserEvents and MinItemEvents are the filters of rare users and items that the events went
	// through.
	MinUserEvents, MinItemEvents int

	// Nystrom tells that the basis came from sampled columns, with the options Form and Landmarks.
	Nystrom         bool
	Form            string
	SampleLandmarks int
}

// Like returns the constants of m: its spec, and the entries of its provenance about the training
// that the spec does not have. Entries that are absent or not numbers count as 0.
func Like(m *model.Model) Pattern {
	spec := m.Spec()
	number := func(key string) int {
		n, _ := strconv.Atoi(spec.Provenance[key]) // 0 if there is none
		return max(n, 0)
	}
	p := Pattern{
		Spec:          spec,
		AskedRank:     max(m.Rank(), number(KeyAskedRank)),
		MinUserEvents: number(KeyMinUserEvents),
		MinItemEvents: number(KeyMinItemEvents),
	}
	if spec.Provenance[KeyAskedRank] == rankDefault {
		p.AskedRank = 0
	}
	if spec.Provenance[KeySolver] == spectral.SolverNystrom {
		p.Nystrom, p.Form, p.SampleLandmarks = true, spec.Provenance[KeyNystromForm],
			number(KeyLandmarks)
	}
	return p
}

// Apply returns cfg with the constants of the pattern, and no choice of others. The solver of the
// pattern counts where cfg leaves the choice open.
func (p *Pattern) Apply(cfg Config) Config {
	cfg.Spec, cfg.Rank, cfg.CutRank = p.Spec, p.AskedRank, true
	cfg.ChooseRank, cfg.ChooseRidge, cfg.ChooseBands = false, false, false
	if p.Nystrom && (cfg.Solver == "" || cfg.Solver == spectral.SolverAuto) {
		cfg.Solver, cfg.Nystrom.Form = spectral.SolverNystrom, p.Form
		cfg.Nystrom.Landmarks = max(cfg.Nystrom.Landmarks, p.SampleLandmarks)
	}
	return cfg
}
