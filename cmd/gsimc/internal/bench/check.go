package bench

import (
	"errors"
	"slices"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"
)

// Check checks the flags together.
func (c *Cmd) Check() error {
	return errors.Join(c.checkWhat(), c.benchTarget.check(), c.benchTraffic.check(),
		c.benchLoad.check())
}

// checkWhat checks the scenario or the sweep.
func (c *Cmd) checkWhat() error {
	var err error
	mixed := c.Sweep == "" && !c.Filter && slices.Contains([]string{"", "all", "mixed"}, c.Scenario)
	switch {
	case c.Scenario != "" && c.Sweep != "":
		err = cli.Flagf("--sweep", "leave out --scenario, or this")
	case c.Sweep == "" && len(c.At) > 0:
		err = cli.Flagf("--at", "goes with --sweep only")
	case slices.Contains([]string{overloadScenario, catalogueScenario}, c.Scenario) &&
		c.Server != "":
		err = cli.Flagf("--server", "leave it out: %s starts a server of its own", c.Scenario)
	case !mixed && (c.Load != nil || c.Rate != 0):
		err = cli.About("%s and %s: go with the mixed scenario only", "--load", "--rate")
	}
	err = errors.Join(err, c.checkFilter())
	if c.Sweep == "" {
		return err
	}
	return errors.Join(err, c.checkSweep())
}

// checkFilter checks what goes with --filter and with the scenario catalogue.
func (c *Cmd) checkFilter() error {
	switch {
	case c.Catalogue > 0 && c.Scenario != catalogueScenario:
		return cli.Flagf("--catalogue", "goes with --scenario catalogue only")
	case c.Filter && (c.Scenario != "" || c.Sweep != ""):
		return cli.Flagf("--filter", "leave out --scenario and --sweep, or this")
	case c.Filter && c.Server != "":
		return cli.Flagf("--server", "leave it out: --filter starts a server of its own, and "+
			"fills its catalogue")
	case c.Filter && c.Allow+c.Deny > 0:
		return cli.Flagf("--filter", "leave out --allow and --deny, which are filters too")
	}
	return nil
}

func (c *Cmd) checkSweep() error {
	ofModels := c.Sweep == "n" || c.Sweep == "k"
	switch {
	case ofModels && (c.Model != "" || c.Server != ""):
		return cli.Flagf("--sweep", "a sweep over %s generates its models: leave out --model and "+
			"--server", c.Sweep)
	case c.Sweep == "n" && c.Items != nil, c.Sweep == "k" && c.Rank != nil:
		return cli.Flagf("--sweep", "--at gives the points of a sweep over %s: leave out --items "+
			"or --rank", c.Sweep)
	case c.Sweep == "history" && c.History > 0:
		return cli.Flagf("--history", "--at gives the points of a sweep over it")
	}
	axis := sweeps[c.Sweep]
	for i, x := range c.At {
		if x < axis.low || x > axis.high {
			return cli.Flagf("--at", "%d, want %d to %d in a sweep over %s", x, axis.low, axis.high,
				c.Sweep)
		}
		if i > 0 && x <= c.At[i-1] {
			return cli.Flagf("--at", "%d after %d, want ascending points", x, c.At[i-1])
		}
	}
	return nil
}

func (t *benchTarget) check() error {
	var err error
	switch {
	case t.Server != "" && t.Model == "":
		err = cli.Flagf("--server", "give the --model that it serves, for the ids of its items")
	case t.Model != "" && (t.Items != nil || t.Rank != nil || t.Preset != ""):
		err = cli.Flagf("--model", "leave out --items, --rank and --preset, which are of a "+
			"generated model")
	case cli.Given(t.Rank, 1) > cli.Given(t.Items, benchItems):
		err = cli.Flagf("--rank", "%d is above the number of items %d", *t.Rank,
			cli.Given(t.Items, benchItems))
	}
	if t.Server != "" && t.Store != "pebble" {
		err = errors.Join(err, cli.Flagf("--store", "is of a server that the bench starts: leave "+
			"out --server, or this"))
	}
	return errors.Join(err, stores.Check(stores.Flag, t.Store),
		cli.InRange("--items", float64(cli.Given(t.Items, 2)), 2, 1e8),
		cli.InRange("--rank", float64(cli.Given(t.Rank, 1)), 1, 1e5))
}

func (t *benchTraffic) check() error {
	err := errors.Join(
		cli.InRange("--users", float64(t.Users), 1, maxBenchUsers),
		cli.InRange("--events", float64(t.Events), 1, 1000),
		cli.InRange("--page", float64(t.Page), 1, 1000),
		cli.InRange("--history", float64(t.History), 0, 1000),
		cli.InRange("--allow", float64(t.Allow), 0, 10_000),
		cli.InRange("--catalogue", float64(t.Catalogue), 0, 1e8),
		cli.InRange("--deny", float64(t.Deny), 0, 10_000),
		cli.InRange("--batch", float64(t.Batch), 1, 1000),
		cli.InRange("--observe-share", t.ObserveShare, 0, 1),
		cli.InRange("--stream-share", t.StreamShare, 0, 1))
	if err == nil && t.ObserveShare+t.StreamShare > 1 {
		err = cli.Flagf("--stream-share", "%v and --observe-share %v are more than 1 together",
			t.StreamShare, t.ObserveShare)
	}
	return err
}

func (l *benchLoad) check() error {
	errs := []error{
		cli.InRange("--connections", float64(l.Connections), 1, 1000),
		cli.InRange("--in-flight", float64(cli.Given(l.InFlight, 1)), 1, 10_000),
		cli.InRange("--rate", l.Rate, 0, 1e6),
		cli.InRange("--repetitions", float64(l.Repetitions), 1, 1000),
	}
	if l.Rate != 0 && l.Load != nil {
		errs = append(errs, cli.Flagf("--rate", "leave out --load, or this"))
	}
	if l.Warmup < 0 {
		errs = append(errs, cli.Flagf("--warmup", "%s, want 0s or more", l.Warmup))
	}
	return errors.Join(append(errs,
		cli.AtLeast("--timeout", l.Timeout, time.Millisecond),
		cli.AtLeast("--duration", l.Duration, time.Millisecond))...)
}
