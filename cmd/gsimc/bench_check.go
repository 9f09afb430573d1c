package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Validate is called by kong after parsing.
func (c *benchCmd) Validate() error {
	return errors.Join(c.checkWhat(), c.benchTarget.check(), c.benchTraffic.check(), c.benchLoad.check())
}

// checkWhat checks what is to be measured.
func (c *benchCmd) checkWhat() error {
	var err error
	mixed := c.Sweep == "" && slices.Contains([]string{"", "all", "mixed"}, c.Scenario)
	switch {
	case c.Scenario != "" && c.Sweep != "":
		err = errors.New("--sweep: leave out --scenario, or this")
	case c.Sweep == "" && len(c.At) > 0:
		err = errors.New("--at: goes with --sweep only")
	case !mixed && (c.Load != nil || c.Rate != 0):
		err = errors.New("--load and --rate: go with the mixed scenario only")
	}
	if c.Sweep == "" {
		return err
	}
	return errors.Join(err, c.checkSweep())
}

func (c *benchCmd) checkSweep() error {
	ofModels := c.Sweep == "n" || c.Sweep == "k"
	switch {
	case ofModels && (c.Model != "" || c.Server != ""):
		return fmt.Errorf("--sweep: a sweep over %s generates its models: leave out --model and --server", c.Sweep)
	case c.Sweep == "n" && c.Items != nil, c.Sweep == "k" && c.Rank != nil:
		return fmt.Errorf("--sweep: --at gives the points of a sweep over %s: leave out --items or --rank", c.Sweep)
	case c.Sweep == "history" && c.History > 0:
		return errors.New("--history: --at gives the points of a sweep over it")
	}
	axis := sweeps[c.Sweep]
	for i, x := range c.At {
		if x < axis.low || x > axis.high {
			return fmt.Errorf("--at: %d, want %d to %d in a sweep over %s", x, axis.low, axis.high, c.Sweep)
		}
		if i > 0 && x <= c.At[i-1] {
			return fmt.Errorf("--at: %d after %d, want ascending points", x, c.At[i-1])
		}
	}
	return nil
}

func (t *benchTarget) check() error {
	var err error
	switch {
	case t.Server != "" && t.Model == "":
		err = errors.New("--server: give the --model that it serves, for the ids of its items")
	case t.Model != "" && (t.Items != nil || t.Rank != nil || t.Preset != ""):
		err = errors.New("--model: leave out --items, --rank and --preset, which are of a generated model")
	case given(t.Rank, 1) > given(t.Items, benchItems):
		err = fmt.Errorf("--rank: %d is above the number of items %d", *t.Rank, given(t.Items, benchItems))
	}
	return errors.Join(err, inRange("--items", float64(given(t.Items, 2)), 2, 1e8), inRange("--rank", float64(given(t.Rank, 1)), 1, 1e5))
}

func (t *benchTraffic) check() error {
	err := errors.Join(
		inRange("--users", float64(t.Users), 1, maxBenchUsers), inRange("--events", float64(t.Events), 1, 1000),
		inRange("--page", float64(t.Page), 1, 1000), inRange("--history", float64(t.History), 0, 1000),
		inRange("--allow", float64(t.Allow), 0, 10_000), inRange("--deny", float64(t.Deny), 0, 10_000),
		inRange("--batch", float64(t.Batch), 1, 1000),
		inRange("--observe-share", t.ObserveShare, 0, 1), inRange("--stream-share", t.StreamShare, 0, 1))
	if err == nil && t.ObserveShare+t.StreamShare > 1 {
		err = fmt.Errorf("--stream-share: %v and --observe-share %v are more than 1 together", t.StreamShare, t.ObserveShare)
	}
	return err
}

func (l *benchLoad) check() error {
	errs := []error{
		inRange("--connections", float64(l.Connections), 1, 1000), inRange("--in-flight", float64(given(l.InFlight, 1)), 1, 10_000),
		inRange("--rate", l.Rate, 0, 1e6), inRange("--repetitions", float64(l.Repetitions), 1, 1000),
	}
	if l.Rate != 0 && l.Load != nil {
		errs = append(errs, errors.New("--rate: leave out --load, or this"))
	}
	for flag, d := range map[string]time.Duration{"--timeout": l.Timeout, "--duration": l.Duration} {
		if d < time.Millisecond {
			errs = append(errs, fmt.Errorf("%s: %s, want at least 1ms", flag, d))
		}
	}
	if l.Warmup < 0 {
		errs = append(errs, fmt.Errorf("--warmup: %s, want 0s or more", l.Warmup))
	}
	return errors.Join(errs...)
}
