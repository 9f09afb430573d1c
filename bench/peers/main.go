// Command peers measures gsimc beside what one would use instead, in the same run and in turn:
// exact top-N search, matrix products, eigenvectors, durable events. It stores every sample as
// JSON; the command report makes tables and plots of them.
//
//	go run ./peers topn gemm train durability serving
//
// A peer that is not installed is skipped, and the output says so. Everything runs on this machine
// alone; children are stopped and temporary files removed at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/bench/internal/result"
)

// version of gsimc, stamped by make.
var version = "unknown"

// parts are what can be measured, in the order of "all".
var parts = []struct {
	name, help string
	run        func(*session) error
}{
	{"topn", "exact top-N against BLAS, exact and approximate indexes, on random and trained bases",
		measureTopN},
	{"gemm", "matrix products against gonum, OpenBLAS and the peak of the processor", measureGEMM},
	{"durability", "durable appends against redis, bbolt and pebble", measureDurability},
	{"train", "leading eigenvectors against ARPACK", measureTrain},
	{"train-large", "leading eigenvectors at the size of the Netflix prize", measureTrainLarge},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx,
		stop) // a second interrupt does not wait for what cannot be stopped, such as a solver
	err := run(ctx, os.Args[1:])
	if ctx.Err() != nil {
		err = errors.New("interrupted: of the part under way nothing is stored")
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run parses the command line and measures the parts it names. A part that fails does not keep the
// others from running.
func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	o.register(flags)
	flags.Usage = func() { usage(flags) }
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	names := flags.Args()
	if len(names) == 0 {
		return fmt.Errorf("no part to measure: name some of %s, or all", partNames())
	}
	for _, n := range names {
		if !isPart(n) && n != "all" {
			return fmt.Errorf("unknown part %q, want some of %s, or all; flags go before them", n,
				partNames())
		}
	}
	var failed []error
	for _, p := range parts {
		if !wanted(p.name, names) {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if err := measure(ctx, o, p.name, p.run); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return errors.Join(failed...)
}

// wanted reports whether a part is among the names.
func wanted(part string, names []string) bool {
	return slices.Contains(names, part) || slices.Contains(names, "all")
}

func isPart(name string) bool { return slices.Contains(strings.Split(partNames(), ", "), name) }

func partNames() string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

func usage(flags *flag.FlagSet) {
	out := flags.Output()
	fmt.Fprintln(out, "Usage: peers [flags] PART...\n\nParts, or all:")
	for _, p := range parts {
		fmt.Fprintf(out, "  %-12s %s\n", p.name, p.help)
	}
	fmt.Fprintln(out, "\nFlags:")
	flags.PrintDefaults()
}

// measure runs one part in a temporary folder of its own and stores what it measured.
func measure(ctx context.Context, o options, part string, run func(*session) error) (err error) {
	tmp, err := os.MkdirTemp("", "gsimc-peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	begin := time.Now()
	s := &session{options: o, ctx: ctx, tmp: tmp, begin: begin, file: &result.File{
		Part: part + o.suffix, Command: o.command(part), Date: begin.UTC().Truncate(time.Second),
		Quick: o.quick, Machine: result.ThisMachine(version),
	}}
	if err := run(s); err != nil {
		return err
	}
	s.file.Seconds = time.Since(begin).Seconds()
	if err := result.Write(o.out, s.file); err != nil {
		return err
	}
	s.say("stored in %s/%s.json after %.0f s", o.out, s.file.Part, s.file.Seconds)
	return nil
}
