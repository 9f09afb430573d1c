package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/num/vec"
)

// options are the flags.
type options struct {
	Scenario string `group:"What:" enum:"all,latency,throughput,observe,stream,mixed,visibility,overload,catalogue," default:"" help:"all, latency, throughput, observe, stream, mixed, visibility, overload or catalogue. Default: all but the last two."`
	Sweep    string `group:"What:" enum:"n,k,history,clients,users," default:"" help:"Measure how the cost of Recommend grows with n (items), k (rank), history (events in the request), clients or users (in the store), instead of a scenario."`
	Filter   bool   `group:"What:" help:"Measure Recommend with filters of 1, 10 and 100 categories, which half, a hundredth and a ten thousandth of the items pass, beside Recommend without a filter, instead of a scenario."`
	At       []int  `group:"What:" placeholder:"X,..." help:"Points of the sweep, ascending. Default: a list for each axis."`
	JSON     string `group:"What:" name:"json" placeholder:"FILE" help:"Write the report here too, as JSON."`
	Quiet    bool   `group:"What:" short:"q" help:"Show no progress."`
	benchTarget
	benchTraffic
	benchLoad
}

// benchTarget chooses the server and its model.
type benchTarget struct {
	Gsimc  string `group:"Server:" default:"bin/gsimc" placeholder:"FILE" help:"The program to start. Default: bin/gsimc."`
	Server string `group:"Server:" placeholder:"HOST:PORT" help:"A running server on this machine that serves --model. It keeps the events, on users bench-0000000 and up. Default: one is started on a temporary folder."`
	Model  string `group:"Server:" placeholder:"FILE" help:"Model file to serve. Default: a random one is generated."`
	Store  string `group:"Server:" default:"pebble" placeholder:"STORE" help:"Store of the server that is started, as gsimc serve takes it. One that servers share keeps the events."`
	Items  *int   `group:"Server:" help:"Items of the generated model, n. Default: 20000."`
	Rank   *int   `group:"Server:" help:"Rank of the generated model, k. Default: 256; in a sweep over n, 64."`
	Preset string `group:"Server:" enum:"learned,paper," default:"" help:"Dynamics of the generated model: learned, as train makes them, or paper. Default: learned."`

	client.AccessFlags
}

// benchTraffic chooses the requests.
type benchTraffic struct {
	Users   int `group:"Traffic:" default:"10000" help:"Users in the store before the measurement."`
	Events  int `group:"Traffic:" default:"20" help:"Events of each of these users."`
	Page    int `group:"Traffic:" default:"100" help:"Items to ask for, 1 to 1000."`
	History int `group:"Traffic:" default:"0" help:"Events of the history that a Recommend carries instead of a user id, up to 1000. 0: it names a user."`
	Allow   int `group:"Traffic:" default:"0" help:"Items on the allow-list of a Recommend, up to 10000. 0: no list."`
	Deny    int `group:"Traffic:" default:"0" help:"Items on the deny-list of a Recommend, up to 10000. 0: no list."`

	Catalogue int `group:"Traffic:" default:"0" help:"Items of the catalogue in its scenario, up to 100000000. 0: as many as the model has; further ones are unknown to the model."`

	Packed bool `group:"Traffic:" help:"Ask for lists as arrays: shorter messages."`

	ObserveShare float64 `group:"Traffic:" default:"0.1" help:"Share of Observe in the mixed scenario."`
	StreamShare  float64 `group:"Traffic:" default:"0" help:"Share of streamed events in the mixed scenario; the rest is Recommend."`
	Batch        int     `group:"Traffic:" default:"100" help:"Streamed events in a message of the stream scenario, 1 to 1000."`
	Seed         uint64  `group:"Traffic:" default:"1" help:"Seed of the random numbers."`
}

// benchLoad says how much is sent and for how long.
type benchLoad struct {
	Connections int           `group:"Load:" default:"4" help:"Connections to the server."`
	InFlight    *int          `group:"Load:" help:"Requests in flight in closed loops. Default: 64 for observe and overload, 16 for visibility, 32 otherwise."`
	Load        *percent      `group:"Load:" placeholder:"PERCENT" help:"Rate of the open loop of the mixed scenario, as a share of the rate of its closed loop. Default: 70%."`
	Rate        float64       `group:"Load:" default:"0" help:"Rate of the open loop in requests a second, instead of --load."`
	Timeout     time.Duration `group:"Load:" default:"1s" help:"Deadline of a request."`
	Warmup      time.Duration `group:"Load:" default:"500ms" help:"Time before each measurement."`
	Duration    time.Duration `group:"Load:" default:"2s" help:"Time of each measurement."`
	Repetitions int           `group:"Load:" default:"5" help:"Measurements of each figure. Server and echo take turns."`
}

// manual stands above the flags.
const manual = `Starts a server, measures it over gRPC and prints minimum, median and maximum
over the repetitions. A bare gRPC echo of the same messages runs beside it, for comparison. Both are
processes of their own.

  latency     one Recommend in flight: server, echo, and the search alone in this process
  throughput  Recommend with 32 in flight: server and echo
  mixed       Recommend and events that arrive at random, at --load of the maximum rate;
              a latency counts from the time at which the request was due
  visibility  from sending an event to the first list that shows it
  observe     durable Observe with 64 in flight: server and echo
  stream      durable streamed events at full speed
  overload    Recommend, then Observe, at 0.8, 2, 5 and 10 times the capacity of a server that is
              held to a part of a processor: what is answered in time, probes, recovery
  catalogue   writing all items to the catalogue, Recommend meanwhile, starts with and without it,
              memory, and filters as by --filter

Users and items follow a Zipf distribution. Other settings of the server come from the
environment, such as GSIMC_STATE_CACHE. An interrupt ends the run and prints the figures so far.

  load --scenario latency --items 20000 --rank 256 --json latency.json
  load --sweep n --json n.json
  load --filter --json filters.json`

// Defaults and limits.
const (
	benchItems     = 20_000
	benchRank      = 256
	benchSweepRank = 64 // in a sweep over n, whose largest model must fit a small machine
	benchLoadShare = 0.7

	maxBenchUsers = 100_000_000
)

// errInterrupted is the end of a run by a signal.
var errInterrupted = errors.New("interrupted")

// run measures, prints the tables and writes the file.
func (o *options) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if o.JSON != "" {
		if err := writable("--json", o.JSON); err != nil {
			return err
		}
	}
	report := &loadtest.Report{
		Schema:  loadtest.Schema,
		Machine: loadtest.ThisMachine(version, vec.KernelName()),
		Date:    time.Now().UTC().Truncate(time.Second),
		Command: o.command(),
	}
	p := &progress{out: stderr}
	if o.Quiet {
		p.out = nil
	}
	failure := o.measure(ctx, p, report)
	if ctx.Err() != nil {
		failure = o.interrupted(report) // the interrupt is the cause of any other error
	}
	report.Complete = failure == nil
	if len(report.Series) > 0 {
		printReport(stdout, report)
		if o.JSON != "" {
			failure = errors.Join(failure, writeReport(o.JSON, report))
		}
	}
	return failure
}

// interrupted says what is kept of a run that a signal ended.
func (o *options) interrupted(report *loadtest.Report) error {
	kept := "nothing was measured yet"
	switch {
	case len(report.Series) > 0 && o.JSON != "":
		kept = "the tables and " + o.JSON + " hold what was measured before"
	case len(report.Series) > 0:
		kept = "the tables hold what was measured before"
	}
	return fmt.Errorf("%w: %s; the same command measures anew", errInterrupted, kept)
}

// measure fills in the report, as far as it comes.
func (o *options) measure(
	ctx context.Context, p *progress, report *loadtest.Report,
) (err error) {
	dir, err := os.MkdirTemp("", "gsimc-load-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{options: o, dir: dir, progress: p, report: report}
	switch {
	case o.Sweep != "":
		return b.sweep(ctx)
	case o.Scenario == catalogueScenario:
		return b.catalogue(ctx)
	case o.Filter:
		return b.filters(ctx)
	}
	return b.scenarios(ctx, cmp.Or(o.Scenario, "all"))
}

// command returns the command line that repeats the run. It names the flags in force, so that other
// defaults, another environment or another file of settings give the same run.
func (o *options) command() string {
	line := []string{"load"}
	add := func(flag string, value any) { line = append(line, "--"+flag, fmt.Sprint(value)) }
	// Flags that are 0 or empty by default, or whose default depends on the scenario, are named
	// only if they differ from it.
	some := func(flag string, value any, is bool) {
		if is {
			add(flag, value)
		}
	}
	some("sweep", o.Sweep, o.Sweep != "")
	some("scenario", cmp.Or(o.Scenario, "all"), o.Sweep == "" && !o.Filter)
	if o.Filter {
		line = append(line, "--filter")
	}
	some("at", strings.Trim(strings.ReplaceAll(fmt.Sprint(o.At), " ", ","), "[]"), len(o.At) > 0)
	some("server", o.Server, o.Server != "")
	some("model", o.Model, o.Model != "")
	if o.Model == "" {
		some("items", given(o.Items, benchItems), o.Sweep != "n")
		some("rank", o.rank(), o.Sweep != "k")
		add("preset", cmp.Or(o.Preset, "learned"))
	}
	some("users", o.Users, o.Sweep != "users")
	add("events", o.Events)
	add("page", o.Page)
	some("history", o.History, o.History > 0)
	some("allow", o.Allow, o.Allow > 0)
	some("deny", o.Deny, o.Deny > 0)
	some("catalogue", o.Catalogue, o.Catalogue > 0)
	if o.Packed {
		line = append(line, "--packed")
	}
	some("observe-share", o.ObserveShare, o.Sweep == "" && !o.Filter)
	some("stream-share", o.StreamShare, o.StreamShare > 0)
	add("batch", o.Batch)
	some("load", fmt.Sprintf("%g%%", 100*float64(given(o.Load, 0))), o.Load != nil)
	some("rate", o.Rate, o.Rate > 0)
	some("in-flight", given(o.InFlight, 0), o.InFlight != nil)
	add("connections", o.Connections)
	add("timeout", o.Timeout)
	add("warmup", o.Warmup)
	add("duration", o.Duration)
	add("repetitions", o.Repetitions)
	add("seed", o.Seed)
	return strings.Join(line, " ")
}

// rank is that of the generated model, except in a sweep over it.
func (o *options) rank() int {
	if o.Sweep == "n" {
		return given(o.Rank, benchSweepRank)
	}
	return given(o.Rank, min(benchRank, given(o.Items, benchItems)))
}
