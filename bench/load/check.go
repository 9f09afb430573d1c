package main

import (
	"errors"
	"slices"
	"time"
)

// check checks the flags together.
func (o *options) check() error {
	return errors.Join(o.checkWhat(), o.benchTarget.check(), o.benchTraffic.check(),
		o.benchLoad.check())
}

// checkWhat checks the scenario or the sweep.
func (o *options) checkWhat() error {
	var err error
	mixed := o.Sweep == "" && !o.Filter && slices.Contains([]string{"", "all", "mixed"}, o.Scenario)
	switch {
	case o.Scenario != "" && o.Sweep != "":
		err = refuse("--sweep", "leave out --scenario, or this")
	case o.Sweep == "" && len(o.At) > 0:
		err = refuse("--at", "goes with --sweep only")
	case slices.Contains([]string{overloadScenario, catalogueScenario}, o.Scenario) &&
		o.Server != "":
		err = refuse("--server", "leave it out: %s starts a server of its own", o.Scenario)
	case !mixed && (o.Load != nil || o.Rate != 0):
		err = errors.New("--load and --rate: go with the mixed scenario only")
	}
	err = errors.Join(err, o.checkFilter())
	if o.Sweep == "" {
		return err
	}
	return errors.Join(err, o.checkSweep())
}

// checkFilter checks what goes with --filter and with the scenario catalogue.
func (o *options) checkFilter() error {
	switch {
	case o.Catalogue > 0 && o.Scenario != catalogueScenario:
		return refuse("--catalogue", "goes with --scenario catalogue only")
	case o.Filter && (o.Scenario != "" || o.Sweep != ""):
		return refuse("--filter", "leave out --scenario and --sweep, or this")
	case o.Filter && o.Server != "":
		return refuse("--server", "leave it out: --filter starts a server of its own, and "+
			"fills its catalogue")
	case o.Filter && o.Allow+o.Deny > 0:
		return refuse("--filter", "leave out --allow and --deny, which are filters too")
	}
	return nil
}

func (o *options) checkSweep() error {
	ofModels := o.Sweep == "n" || o.Sweep == "k"
	switch {
	case ofModels && (o.Model != "" || o.Server != ""):
		return refuse("--sweep", "a sweep over %s generates its models: leave out --model and "+
			"--server", o.Sweep)
	case o.Sweep == "n" && o.Items != nil, o.Sweep == "k" && o.Rank != nil:
		return refuse("--sweep", "--at gives the points of a sweep over %s: leave out --items "+
			"or --rank", o.Sweep)
	case o.Sweep == "history" && o.History > 0:
		return refuse("--history", "--at gives the points of a sweep over it")
	}
	axis := sweeps[o.Sweep]
	for i, x := range o.At {
		if x < axis.low || x > axis.high {
			return refuse("--at", "%d, want %d to %d in a sweep over %s", x, axis.low, axis.high,
				o.Sweep)
		}
		if i > 0 && x <= o.At[i-1] {
			return refuse("--at", "%d after %d, want ascending points", x, o.At[i-1])
		}
	}
	return nil
}

func (t *benchTarget) check() error {
	var err error
	switch {
	case t.Server != "" && t.Model == "":
		err = refuse("--server", "give the --model that it serves, for the ids of its items")
	case t.Model != "" && (t.Items != nil || t.Rank != nil || t.Preset != ""):
		err = refuse("--model", "leave out --items, --rank and --preset, which are of a "+
			"generated model")
	case given(t.Rank, 1) > given(t.Items, benchItems):
		err = refuse("--rank", "%d is above the number of items %d", *t.Rank,
			given(t.Items, benchItems))
	}
	if t.Server != "" && t.Store != pebble {
		err = errors.Join(err, refuse("--store", "is of a server that is started: leave "+
			"out --server, or this"))
	}
	return errors.Join(err,
		inRange("--items", float64(given(t.Items, 2)), 2, 1e8),
		inRange("--rank", float64(given(t.Rank, 1)), 1, 1e5))
}

func (t *benchTraffic) check() error {
	err := errors.Join(
		inRange("--users", float64(t.Users), 1, maxBenchUsers),
		inRange("--events", float64(t.Events), 1, 1000),
		inRange("--page", float64(t.Page), 1, 1000),
		inRange("--history", float64(t.History), 0, 1000),
		inRange("--allow", float64(t.Allow), 0, 10_000),
		inRange("--catalogue", float64(t.Catalogue), 0, 1e8),
		inRange("--deny", float64(t.Deny), 0, 10_000),
		inRange("--batch", float64(t.Batch), 1, 1000),
		inRange("--observe-share", t.ObserveShare, 0, 1),
		inRange("--stream-share", t.StreamShare, 0, 1))
	if err == nil && t.ObserveShare+t.StreamShare > 1 {
		err = refuse("--stream-share", "%v and --observe-share %v are more than 1 together",
			t.StreamShare, t.ObserveShare)
	}
	return err
}

func (l *benchLoad) check() error {
	errs := []error{
		inRange("--connections", float64(l.Connections), 1, 1000),
		inRange("--in-flight", float64(given(l.InFlight, 1)), 1, 10_000),
		inRange("--rate", l.Rate, 0, 1e6),
		inRange("--repetitions", float64(l.Repetitions), 1, 1000),
	}
	if l.Rate != 0 && l.Load != nil {
		errs = append(errs, refuse("--rate", "leave out --load, or this"))
	}
	if l.Warmup < 0 {
		errs = append(errs, refuse("--warmup", "%s, want 0s or more", l.Warmup))
	}
	return errors.Join(append(errs,
		atLeast("--timeout", l.Timeout, time.Millisecond),
		atLeast("--duration", l.Duration, time.Millisecond))...)
}
