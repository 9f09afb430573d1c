// Command load measures a server of gsimc over gRPC, as its clients see it, beside a bare gRPC echo
// of the same messages.
//
//	go run ./load --gsimc ../bin/gsimc --scenario latency
//
// bench/README.md says what it measures and how.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/fault"
)

// version of this program, stamped by make.
var version = "unknown"

// Exit codes, those of gsimc.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	code := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}

// run runs a command line and returns the exit code.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	fail := func(code int, err error, hint string) int {
		text := strings.ReplaceAll(fault.Text(err, flagOf), "\n", "; ")
		fmt.Fprintf(stderr, "load: %s%s\n", text, hint)
		return code
	}
	if len(args) > 0 && args[0] == echoCommand {
		if err := echo(ctx, stderr, args[1:]); err != nil {
			return fail(exitFailure, err, "")
		}
		return 0
	}
	o, shown, err := parse(stdout, stderr, args)
	switch {
	case shown:
		return 0
	case err != nil:
		return fail(exitUsage, err, " (see load --help)")
	}
	switch err := o.run(ctx, stdout, stderr); {
	case errors.Is(err, errInterrupted):
		return fail(exitInterrupted, err, "")
	case err != nil:
		return fail(exitFailure, err, "")
	}
	return 0
}

// parse reads and checks the flags. shown: it was asked for help only, which it has printed.
func parse(stdout, stderr io.Writer, args []string) (o *options, shown bool, err error) {
	o = &options{}
	parser, err := kong.New(o, kong.Name("load"), kong.Description(manual),
		kong.Writers(stdout, stderr), kong.Exit(func(int) { shown = true }),
		kong.WithHyphenPrefixedParameters(true), // --value -1
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 120}))
	if err != nil {
		return nil, false, err
	}
	if _, err = parser.Parse(args); err != nil || shown {
		return o, shown, err
	}
	return o, false, o.check()
}
