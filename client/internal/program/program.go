// Package program is what the programs beside gsimc, modules of their own below client, do alike:
// they read flags, end by signals, and print errors with the exit codes of gsimc. What a program
// in Go imports to call a server does not import it, and so has no parser of flags.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/fault"
)

// Exit codes are those of gsimc.
const (
	Failure     = 1
	Usage       = 2
	Interrupted = 130
)

// Program is one of them.
type Program struct {
	Name, Description, Version string
	FlagOf                     func(field string) string // of a fault
	Options                    []kong.Option
}

// Main runs a program with a context that ends with the first signal, and exits.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) (code int)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Parser returns the parser of flags, a pointer to a struct with the tags of Kong.
func (p *Program) Parser(flags any, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(flags, append(append(options, p.Options...), kong.Name(p.Name),
		kong.Description(p.Description), kong.Vars{"version": p.Version})...)
}

// Run reads args into flags, unless they ask for help or the version, and calls do with the name of
// the command, if there are commands. It prints the error, unless that is [ErrInterrupted], and
// returns the exit code.
func (p *Program) Run(args []string, flags any, stdout, stderr io.Writer,
	do func(command string) error,
) int {
	exit := -1
	parser, err := p.Parser(flags, kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exit = code }))
	if err != nil {
		panic(err) // the tags of flags
	}
	parsed, err := parser.Parse(args)
	switch {
	case exit >= 0: // help or version
		return exit
	case err != nil:
		return p.fails(stderr, Usage, err)
	}
	command := ""
	if at := parsed.Selected(); at != nil {
		command = at.Name
	}
	err = do(command)
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(*fault.Fault)):
		return p.fails(stderr, Usage, fault.Text(err, p.FlagOf))
	case errors.Is(err, ErrInterrupted):
		return Interrupted
	}
	return p.fails(stderr, Failure, err)
}

// ErrInterrupted is that of a program that a signal ended before it was done.
var ErrInterrupted = errors.New("interrupted")

func (p *Program) fails(stderr io.Writer, code int, why any) int {
	_, _ = fmt.Fprintf(stderr, "%s: %v\n", p.Name, why)
	return code
}
