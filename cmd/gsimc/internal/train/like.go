package train

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// likeFlags train after the model of another file.
type likeFlags struct {
	Like      string `renewed:"" group:"Retraining:" placeholder:"FILE" help:"Train with the constants of this model instead of those of the flags: graph, rank, dynamics or filter, noise, and the filters of rare users and items."`
	Compare   string `renewed:"" group:"Retraining:" placeholder:"FILE" help:"Compare with this model: keep the last events of up to 2000 recently active users from the training, and print for both models the share of these events whose item is among the first 50 (recall@50). Only items that both models know count."`
	Estimator string `group:"Retraining:" default:"bgs-imc" enum:"bgs-imc,gs-imc" help:"Source of the scores of --compare, as for serve."`
	JSON      bool   `group:"Retraining:" name:"json" help:"Print the summary as JSON."`
}

// Idle lists the flags that do nothing: beside a spectrum those of what was done with the events,
// beside --like those of a kind of model, and else those of the kind that is not trained.
func (c *Cmd) Idle() []cli.Idle {
	learned := c.dynamics() == model.DynamicsLearned
	spectrum := cli.When(c.FromSpectrum != "", "Item graph:, Kind of model:, Filter:, "+
		"Online state:, split, from-store, server, event-weight, event-types-file, type-column, "+
		"min-user-events, min-item-events, solver, landmarks, nystrom-form, seed, bands, "+
		"positions, local-neighbours, like, compare, estimator, plan, memory-limit",
		"with --from-spectrum")
	return slices.Concat([]cli.Idle{spectrum}, c.Flags.Idle(), []cli.Idle{
		cli.When(c.Like != "", "rank, quick, Item graph:, Kind of model:, Filter:, Online state:, "+
			"Learned dynamics:", "with --like"),
		cli.When(!learned, "quick", "without learned dynamics, which alone choose constants"),
		cli.When(c.Like == "" && learned, "phi, gamma, a, power, Online state:",
			"with learned dynamics, only with a --filter"),
		cli.When(learned, "filter", "with --dynamics learned").Beside("dynamics"),
		cli.When(c.Like == "" && !learned, "Learned dynamics:",
			"without learned dynamics, so with --filter, --preset paper or --dynamics none"),
	})
}

// follow reads the model of --like, and takes over the filters of rare users and items.
func (c *Cmd) follow() error {
	m, err := cli.OpenModel("--like", c.Like)
	if err != nil {
		return err
	}
	like := train.Like(m)
	if err := m.Close(); err != nil {
		return err
	}
	c.like = &like
	users, items := max(cli.Given(c.MinUserEvents, 0), like.MinUserEvents),
		max(cli.Given(c.MinItemEvents, 0), like.MinItemEvents)
	c.MinUserEvents, c.MinItemEvents = &users, &items
	return nil
}

// config is the training without the source of its events.
func (c *Cmd) config() train.Config {
	cfg := c.ModelFlags.Config(&c.GraphFlags, c.ModelFlags.Spec(&c.GraphFlags, c.dynamics(),
		cli.Given(c.Filter, spectral.RandomWalk)))
	if c.like != nil {
		return c.like.Apply(cfg)
	}
	return cfg
}

// holdOut opens the model of --compare and takes the events out; without --compare it returns nil.
// Nothing tells which events without times are new to that model.
func (c *Cmd) holdOut(
	a *cli.App, events *dataset.Interactions,
) (*train.HeldOut, *model.Model, error) {
	if c.Compare == "" {
		return nil, nil, nil
	}
	old, err := cli.OpenModel("--compare", c.Compare)
	if err != nil {
		return nil, nil, err
	}
	held, err := train.HoldOut(events, old)
	if err != nil {
		return nil, nil, errors.Join(old.Close(),
			cli.WithCode(cli.ExitTooFew, cli.Flag("--compare", err)))
	}
	held.Hide(c.Hides)
	// With --json, which servers retrain with, this is no error: the figures have 0 users, and a
	// model that knows nothing of what is taken is to be replaced.
	if !c.JSON && !held.Comparable() {
		foreign := cli.Flagf("--compare", "%s knows none of the items of the %d events that were "+
			"held out: give a model of these items, or leave the flag out", c.Compare, held.Users())
		return nil, nil, errors.Join(old.Close(), cli.WithCode(cli.ExitTooFew, foreign))
	}
	if events.Time == nil {
		fmt.Fprintln(a.Stderr, "note: no times tell which events are new to the old model: "+
			"--compare favours a model that was trained on the same events")
	}
	return held, old, nil
}

// comparisonRows returns the comparison as rows of the summary.
func comparisonRows(old string, c *train.Comparison) [][]string {
	on := fmt.Sprintf("%d recent events", c.Users)
	if c.LeftOut > 0 {
		on += fmt.Sprintf(" (%d more on items new to a model)", c.LeftOut)
	}
	verdict := ""
	if c.Worse {
		verdict = ": the new model is worse"
	}
	figure := func(x, stderr float64) string { return fmt.Sprintf("%.4f ± %.4f", x, stderr) }
	return [][]string{
		{fmt.Sprintf("recall@%d", c.N), figure(c.New, c.NewErr) + " on " + on},
		{"  of the other", figure(c.Old, c.OldErr) + ", " + old},
		{"  difference", fmt.Sprintf("%+.4f ± %.4f%s", c.Difference, c.DifferenceErr, verdict)},
	}
}
