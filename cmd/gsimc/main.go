// Command gsimc learns a recommender from one-bit feedback in closed form, measures it, and serves it over gRPC.
//
// This package is wiring: it turns flags into options, opens what has to be opened, and prints. Each command has its
// own file; `gsimc help COMMAND` is its manual.
//
// Exit codes: 0 success, 1 failure, 2 wrong usage, 3 too few new events to compare models on (train --compare). An error is one sentence on standard error.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/progress"
)

const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	exitTooFew  = 3
)

func main() {
	if slices.Contains(os.Args[1:], "serve") {
		startWithSlack()
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// cli is the command line: kong makes flags, help and checks from its fields and tags.
type cli struct {
	Config string `placeholder:"FILE" help:"YAML file of flag values, one 'flag-name: value' a line."`
	Quiet  bool   `short:"q" help:"Show no progress."`

	Generate  generateCmd  `cmd:"" group:"Learn and measure:" help:"Write a synthetic catalogue of events."`
	Train     trainCmd     `cmd:"" group:"Learn and measure:" help:"Learn a model from events and write it to a file."`
	Evaluate  evaluateCmd  `cmd:"" group:"Learn and measure:" help:"Measure HR and NDCG of the methods on held-out users."`
	Tune      tuneCmd      `cmd:"" group:"Learn and measure:" help:"Find the constants of a model for your events."`
	Model     modelCmd     `cmd:"" group:"Learn and measure:" help:"Look into model files."`
	Serve     serveCmd     `cmd:"" group:"Serve:" help:"Serve recommendations over gRPC."`
	Observe   observeCmd   `cmd:"" group:"Serve:" help:"Send events to a running server."`
	Recommend recommendCmd `cmd:"" group:"Serve:" help:"Ask a running server for recommendations."`
	Bench     benchCmd     `cmd:"" group:"Learn and measure:" help:"Measure a server: latency, throughput, visibility, and how the cost grows."`
	BenchEcho benchEchoCmd `cmd:"" hidden:"" help:"Answer like a server that does nothing; started by bench."`
	Demo      demoCmd      `cmd:"" group:"Try:" help:"Run the whole path once: generate, train, serve, observe, recommend."`
	Version   versionCmd   `cmd:"" group:"Try:" help:"Print the version."`
	Help      helpCmd      `cmd:"" group:"Try:" help:"Explain gsimc or one of its commands."`
}

// app is what the commands see of the world around them.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string // NAME=VALUE
	quiet          bool
}

func (a *app) progress() progress.Progress { return progress.New(a.stderr, a.quiet) }

// printf writes to standard output. A closed pipe is found out by the next system call, not by every line.
func (a *app) printf(format string, args ...any) { _, _ = fmt.Fprintf(a.stdout, format, args...) }

// usageError marks an error as the caller's: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// tooFewError marks the error of a comparison without enough events: exit code 3.
type tooFewError struct{ error }

func (e tooFewError) Unwrap() error { return e.error }

// usagef is fmt.Errorf for wrong usage.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is main without the process around it. env holds NAME=VALUE strings.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	var c cli
	exited := false // by --help, after which kong goes on parsing
	settings := newSettings(env)
	parser, err := newParser(&c, a, settings, func(int) { exited = true })
	if err != nil {
		return fail(stderr, err, exitFailure)
	}
	if len(args) == 0 {
		printHelp(parser, stderr)
		return exitUsage
	}
	ctx, err := parser.Parse(args)
	if exited {
		return exitOK
	}
	if err != nil {
		return fail(stderr, usageHint(settings.explain(err), err), exitUsage)
	}
	a.quiet = c.Quiet
	limitMemory(env, 0)
	if err := ctx.Run(a); err != nil {
		code := exitFailure
		if errors.As(err, new(usageError)) {
			code = exitUsage
		}
		if errors.As(err, new(tooFewError)) {
			code = exitTooFew
		}
		return fail(stderr, settings.explain(err), code)
	}
	return exitOK
}

// newParser builds the command line around c.
func newParser(c *cli, a *app, settings *settings, exit func(int)) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("gsimc"),
		kong.Description(description),
		kong.Writers(a.stdout, a.stderr),
		kong.Exit(exit),
		kong.Resolvers(settings),
		kong.Bind(settings),
		kong.WithHyphenPrefixedParameters(true), // --value -1
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: false, WrapUpperBound: 120}),
		helpVars(),
	)
}

// usageHint says where the command line is explained; parsed is the parser's own error.
func usageHint(err, parsed error) error {
	command := ""
	if p := new(kong.ParseError); errors.As(parsed, &p) && p.Context != nil && p.Context.Selected() != nil {
		command = " " + p.Context.Selected().Path()
	}
	return fmt.Errorf("%w (see gsimc help%s)", err, command)
}

// fail prints an error as one line and passes the exit code on.
func fail(stderr io.Writer, err error, code int) int {
	message := strings.Join(strings.Split(strings.TrimSpace(err.Error()), "\n"), "; ")
	_, _ = fmt.Fprintf(stderr, "gsimc: %s\n", message)
	return code
}
