package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// description is the text at the head of `gsimc help`.
const description = `Recommendations from one-bit feedback by graph signal sampling (GS-IMC) and
its online form (BGS-IMC).

A model is learned in closed form from a file of events (user, item, time). It is served over
gRPC, also to users who were not in the file. Each new event counts from the next call on.

  gsimc demo                                          the whole path in seconds
  gsimc train --data events.csv.gz --out model.gsimc  learn
  gsimc serve --model model.gsimc                     serve

Every flag can also be set in the environment (--state-cache: GSIMC_STATE_CACHE) and in the YAML
file of --config (state-cache: 256MiB). The command line comes first, then the environment, then
the file, then the default. A flag that may be given several times is a list in the file, one of
TYPE=W a map (event-weight: {view: 0.2, purchase: 3}). The file has flags of the command alone; that
of GSIMC_CONFIG may also have those of other commands, and is not read beside --config.

Exit codes: 0 success, 1 failure, 2 wrong usage, 3 too few new events to compare models (train
--compare), 4 not all could be saved (salvage), 130 interrupted by a signal.`

// HelpCmd is `gsimc help`.
type HelpCmd struct {
	Command []string `arg:"" optional:"" help:"The command to explain, for example: train, or: model show."`
}

// Run prints the manual of a command, or of gsimc.
func (c *HelpCmd) Run(a *App, k *kong.Kong) error {
	for _, word := range c.Command {
		if strings.HasPrefix(word, "-") {
			return Usagef("help: %q is not a command", word)
		}
	}
	ctx, err := kong.Trace(k, c.Command)
	if err != nil {
		return Usage(err)
	}
	if ctx.Error != nil && findNode(k.Model.Node, c.Command) == nil {
		return Usagef("help: there is no command %q; run gsimc help", strings.Join(c.Command, " "))
	}
	k.Stdout = a.Stdout
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
