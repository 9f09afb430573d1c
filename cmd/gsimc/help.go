package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/train"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/evaluate"
	"github.com/gsimc/gsimc/spectral"
)

// description is the text at the head of `gsimc help`.
const description = `Recommendations from one-bit feedback by graph signal sampling (GS-IMC) and its online form (BGS-IMC).

A model is learned in closed form from a file of events (user, item, time) and served over gRPC to users it never saw in ` +
	`training; each new event is taken in at once.

  gsimc demo                                          the whole path in under a minute
  gsimc train --data events.csv.gz --out model.gsimc  learn
  gsimc serve --model model.gsimc                     serve

Every flag has a twin in the environment (--state-cache: GSIMC_STATE_CACHE) and a key in the YAML file of --config ` +
	`(state-cache: 256MiB). The command line goes before the environment, that before the file, that before the default. ` +
	`A flag that may be given several times is a list in the file.

Exit codes: 0 success, 1 failure, 2 wrong usage, 3 too few new events to compare
models (train --compare).`

// helpVars are the lists of names that flags' help texts and checks refer to.
func helpVars() kong.Vars {
	learned := train.Recommended()
	return kong.Vars{
		"graphs": strings.Join(spectral.GraphKinds, ", "),

		"paper_rank":     fmt.Sprint(train.PaperRank),
		"learned_s":      fmt.Sprint(learned.DegreeExponent),
		"learned_t":      fmt.Sprint(learned.DegreeRescale),
		"learned_window": fmt.Sprint(learned.Window),
		"learned_bands":  model.FormatBands(learned.Dynamics.Bands),
		"learned_ridge":  fmt.Sprint(learned.Dynamics.Ridge),

		"min_hidden_users":  fmt.Sprint(evaluate.MinHiddenUsers),
		"learned_positions": fmt.Sprint(learned.Dynamics.Positions),
		"filters":           strings.Join(spectral.FilterNames, ", "),
		"solvers":           strings.Join([]string{spectral.SolverAuto, spectral.SolverExact, spectral.SolverNystrom}, ", "),
		"forms":             strings.Join([]string{spectral.NystromOrthonormal, spectral.NystromPaper}, ", "),
	}
}

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command to explain, for example: train, or: model show."`
}

// Run prints the manual of a command, or of gsimc.
func (c *helpCmd) Run(a *app, k *kong.Kong) error {
	for _, word := range c.Command {
		if strings.HasPrefix(word, "-") {
			return usagef("help: %q is not a command", word)
		}
	}
	ctx, err := kong.Trace(k, c.Command)
	if err != nil {
		return usageError{err}
	}
	if ctx.Error != nil && strings.HasPrefix(ctx.Error.Error(), "unexpected argument") {
		return usagef("help: there is no command %q; run gsimc help", strings.Join(c.Command, " "))
	}
	k.Stdout = a.stdout
	return ctx.PrintUsage(false)
}

// printHelp prints the overview.
func printHelp(k *kong.Kong, w io.Writer) {
	ctx, err := kong.Trace(k, nil)
	if err != nil {
		fmt.Fprintln(w, "gsimc:", err)
		return
	}
	k.Stdout = w
	_ = ctx.PrintUsage(false)
}
