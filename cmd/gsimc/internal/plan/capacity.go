// Package plan has the command that says what a service needs before there is one.
package plan

import (
	"fmt"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/capacity"
)

// Capacity is `gsimc capacity`.
type Capacity struct {
	Users  int64 `group:"Service:" required:"" help:"Users with a history."`
	Items  int64 `group:"Service:" required:"" help:"Items of the catalogue."`
	Events int64 `group:"Service:" required:"" help:"Events that are kept, of all users."`
	Rank   int   `group:"Service:" default:"256" help:"Rank of the model."`

	EventsPerSecond     float64 `group:"Service:" required:"" help:"Events that arrive in a second, at the busiest time."`
	RecommendsPerSecond float64 `group:"Service:" required:"" help:"Lists that are asked for in a second, at the busiest time."`
	EventsPerCall       float64 `group:"Service:" default:"100" help:"Events in a call of BatchObserve, or in a message of a stream; 1: each event has a call of its own."`

	Store string `group:"Means:" default:"pebble" enum:"pebble,valkey,postgres" help:"Where histories are kept: pebble (the disk of one server), valkey (the memory of a cluster, three copies) or postgres (disks, two copies)."`
	Rows  string `group:"Means:" default:"random" enum:"random,trained" help:"The basis: random is the worst case for a scan, trained leaves rows out as that of docs/benchmarks.md does."`

	Load   float64 `group:"Means:" default:"0.5" help:"Share of the cores that is in use at the busiest time."`
	Active float64 `group:"Means:" default:"0.01" help:"Share of the users whose states are in memory."`

	MachineCores  int          `group:"Means:" default:"16" help:"Cores of each machine that there is."`
	MachineMemory cli.ByteSize `group:"Means:" default:"64GB" help:"Memory of each machine."`

	JSON bool `group:"Output:" name:"json" help:"Print one JSON object."`
}

// Help is the manual under the flags.
func (Capacity) Help() string {
	return `Computes cores, memory, disks and processes for a service, and says what does not ` +
		`fit, what costs most, and what helps. Nothing is measured: the constants behind it come ` +
		`from runs on 2 cores of an Intel Xeon VM, so that other processors need more or less. ` +
		`docs/scale.md tells what is behind the figures; gsimc bench measures your model on your ` +
		`machine.

  gsimc capacity --users 1000000 --items 20000 --events 100000000 \
      --events-per-second 2000 --recommends-per-second 500
  gsimc capacity --users 100000000 --items 200000 --events 10000000000 \
      --events-per-second 1000000 --recommends-per-second 200000 --store valkey`
}

// Check leaves the checks to the plan.
func (c *Capacity) Check() error {
	n := c.need()
	return n.Validate()
}

func (c *Capacity) need() capacity.Need {
	return capacity.Need{
		Users: c.Users, Items: c.Items, Events: c.Events, Rank: c.Rank,
		EventsPerSecond: c.EventsPerSecond, RecommendsPerSecond: c.RecommendsPerSecond,
		EventsPerCall: c.EventsPerCall, Store: capacity.Store(c.Store),
		Rows: capacity.Rows(c.Rows), Load: c.Load, Active: c.Active,
		MachineCores: c.MachineCores, MachineMemory: int64(c.MachineMemory),
	}
}

// Run prints the plan.
func (c *Capacity) Run(a *cli.App) error {
	p, err := capacity.New(c.need())
	if err != nil {
		return err
	}
	if c.JSON {
		return a.PrintJSON(p)
	}
	printPlan(a, p)
	return nil
}

// printPlan writes the plan for people.
func printPlan(a *cli.App, p *capacity.Plan) {
	rows := [][]string{{"part", "processes", "cores", "memory", "disk", "$/h", "from"}}
	for i := range p.Parts {
		part := &p.Parts[i]
		rows = append(rows, []string{part.Name, count(part.Processes), cores(part.Cores),
			bytes(part.Memory), bytes(part.Disk), fmt.Sprintf("%.2f", part.Dollars()), part.From})
	}
	cli.PrintTable(a.Stdout, rows, 1, 2, 3, 4, 5)
	s, t := &p.Server, &p.Training
	a.Printf("\n%s; %s of the store\n", plural(p.Servers, "server"), plural(p.Shards, "shard"))
	a.Printf("a server: %s, %s while a model is replaced: model %s, copies %s, catalogue %s, "+
		"--state-cache %s\n", bytes(s.Memory), bytes(s.AtReload), bytes(s.Model), bytes(s.Copies),
		bytes(s.Catalogue), bytes(s.StateCache))
	a.Printf("a training: %.3g core hours, %s, without the choice of constants\n\n", t.CoreHours,
		bytes(t.Memory))
	printLimits(a, p)
	for _, lever := range p.Levers {
		a.Printf("  %s\n", lever)
	}
}

func printLimits(a *cli.App, p *capacity.Plan) {
	rows := [][]string{{"limit", "needs", "bound", "", "needs / bound"}}
	for i := range p.Limits {
		l := &p.Limits[i]
		rows = append(rows, []string{l.What, fmt.Sprintf("%.4g", l.Needs),
			fmt.Sprintf("%.4g", l.Bound), l.Unit, fmt.Sprintf("%.2g", l.Factor())})
	}
	cli.PrintTable(a.Stdout, rows, 1, 2, 4)
	first := &p.Limits[0]
	if first.Factor() > 1 {
		a.Printf("\nbreaks first: %s, %.2g times the bound; ", first.What, first.Factor())
	} else {
		a.Printf("\neverything fits; closest to its bound: %s; ", first.What)
	}
	a.Printf("costs most: %s\n", p.Dearest)
	if len(p.Levers) > 0 {
		a.Printf("what helps:\n")
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// count is a number of processes; a part that has none of its own has no number.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func cores(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// bytes are decimal, as disks and memory are sold.
func bytes(x float64) string {
	switch {
	case x == 0:
		return ""
	case x >= 1e12:
		return fmt.Sprintf("%.3g TB", x/1e12)
	case x >= 1e9:
		return fmt.Sprintf("%.3g GB", x/1e9)
	}
	return fmt.Sprintf("%.3g MB", x/1e6)
}
