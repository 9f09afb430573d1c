package train

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/kalman"

	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// commandLine is a command with its flags.
type commandLine []string

// add adds flags: their names and values in turn.
func (l *commandLine) add(flags ...any) {
	for pair := range slices.Chunk(flags, 2) {
		*l = append(*l, fmt.Sprintf("--%s %s", pair[0], cli.ShellWord(fmt.Sprint(pair[1]))))
	}
}

// command is the training command with everything that decides the result; files by their base
// names. What was chosen on the validation users is left out, and --out, since the same model may
// have any name.
func (c *Cmd) command(cfg *train.Config, rank int) string {
	line := commandLine{"gsimc train"}
	if c.FromSpectrum != "" {
		c.addSpectrum(&line, cfg, rank)
		return strings.Join(line, " ")
	}
	c.addEvents(&line)
	switch {
	case c.like != nil:
		line.add("like", filepath.Base(c.Like), "seed", c.Seed)
	case c.dynamics() == model.DynamicsLearned:
		c.addGraph(&line, cfg, rank)
		line.add("dynamics", model.DynamicsLearned)
		if !cfg.ChooseBands {
			line.add("bands", kalman.FormatBands(cfg.Spec.Dynamics.Bands))
		}
		if !cfg.ChooseRidge {
			line.add("ridge", cfg.Spec.Dynamics.Ridge)
		}
		line.add("positions", c.Positions)
		if c.NoDeviation {
			line = append(line, "--no-deviation")
		}
	default:
		c.addGraph(&line, cfg, rank)
		c.addFilter(&line, cfg)
	}
	return strings.Join(line, " ")
}

// addSource adds the files of events, and how they are read.
func (c *Cmd) addSource(line *commandLine) {
	for _, path := range c.Data {
		line.add("data", filepath.Base(path))
	}
	if c.MaxBadRows > 0 {
		line.add("max-bad-rows", c.MaxBadRows)
	}
	for _, flag := range c.Differing() {
		line.add(flag[0], flag[1])
	}
}

// addEvents adds what decides the events.
func (c *Cmd) addEvents(line *commandLine) {
	c.addSource(line)
	if c.FromStore != "" {
		line.add("from-store", c.StoreName())
	}
	for _, t := range slices.Sorted(maps.Keys(c.EventWeight)) {
		line.add("event-weight", fmt.Sprintf("%s=%v", t, c.EventWeight[t]))
	}
	if c.Split != "" {
		line.add("split", filepath.Base(c.Split))
	}
	line.add("min-user-events", cli.Given(c.MinUserEvents, 0),
		"min-item-events", cli.Given(c.MinItemEvents, 0))
	if c.Compare != "" {
		line.add("compare", filepath.Base(c.Compare))
	}
}

// addGraph adds what decides the basis.
func (c *Cmd) addGraph(line *commandLine, cfg *train.Config, rank int) {
	spec := &cfg.Spec
	line.add("graph", c.Graph, "degree-exponent", spec.DegreeExponent, "window", spec.Window,
		"degree-rescale", spec.DegreeRescale)
	if !cfg.ChooseRank || !cfg.Learned() { // else the command chooses it again
		line.add("rank", rank)
	}
	line.add("solver", c.Solver, "tolerance", c.Tolerance)
	if c.Solver == spectral.SolverNystrom {
		line.add("landmarks", c.Landmarks, "nystrom-form", c.NystromForm)
	}
	line.add("seed", c.Seed)
}

// addFilter adds the constants of a model without learned dynamics.
func (c *Cmd) addFilter(line *commandLine, cfg *train.Config) {
	line.add("filter", cfg.Spec.Filter.Name, "phi", c.Phi, "gamma", c.Gamma, "a", c.A,
		"power", c.Power, "alpha", c.Alpha, "half-life", c.HalfLife, "sigma-eta", c.SigmaEta,
		"sigma-nu", c.SigmaNu, "covariance", c.Covariance)
}
