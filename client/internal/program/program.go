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
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/cmdline"
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
	Name, Description string
	Version           string                    // that the linker has set
	FlagOf            func(field string) string // of a fault
	Options           []kong.Option
}

// Main runs a program with a context that ends with the first signal, and exits.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) (code int)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Parser returns the parser of flags, a pointer to a struct with the tags of Kong.
func (p *Program) Parser(flags any, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(flags, slices.Concat(cmdline.Values(), options, p.Options, []kong.Option{
		kong.Name(p.Name), kong.Description(p.Description),
		kong.Vars{"version": cmdline.Version(p.Version)}})...)
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
	if command, wanting := cmdline.Walk(parser.Model.Node, args); wanting != nil {
		return p.fails(stderr, Usage,
			fmt.Sprintf("--%s: want a value after it (see %s)", wanting.Name, p.help(command)))
	}
	parsed, err := parser.Parse(args)
	switch {
	case exit >= 0: // help or version
		return exit
	case err != nil:
		return p.fails(stderr, Usage, p.misused(err))
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
		return p.fails(stderr, Usage,
			fmt.Sprintf("%s (see %s)", fault.Text(err, p.FlagOf), p.help(parsed.Selected())))
	case errors.Is(err, ErrInterrupted):
		return Interrupted
	}
	return p.fails(stderr, Failure, err)
}

// ErrInterrupted is that of a program that a signal ended before it was done.
var ErrInterrupted = errors.New("interrupted")

// misused is what is wrong with a command line that cannot be read, and where it is explained.
func (p *Program) misused(err error) string {
	text, help := err.Error(), p.help(nil)
	if e := new(kong.ParseError); errors.As(err, &e) {
		help = p.help(e.Context.Selected())
		if want := missing(e.Context); e.Context.Error == nil && want != "" {
			text = want
		}
	}
	if wrong, variable, has := strings.Cut(text, " (from envar "); has {
		return fmt.Sprintf("%s (from %s; see %s)", wrong, strings.TrimSuffix(variable, ")"), help)
	}
	return fmt.Sprintf("%s (see %s)", text, help)
}

// help is what prints the manual of a command, or of the program; nil: none is known.
func (p *Program) help(command *kong.Node) string {
	if command == nil || command.Parent == nil {
		return p.Name + " --help"
	}
	return p.Name + " " + command.Name + " --help"
}

// missing says which command or arguments a command line lacks; "": none.
func missing(line *kong.Context) string {
	command := line.Selected()
	if command == nil {
		text, before := "", "want the command "
		for _, child := range line.Model.Children {
			text, before = text+before+child.Name, " or "
		}
		return text
	}
	left := len(command.Positional)
	for _, at := range line.Path {
		if at.Positional != nil {
			left--
		}
	}
	if left == 0 {
		return ""
	}
	text := command.Name + ": want the arguments"
	for _, argument := range command.Positional {
		text += " " + strings.ToUpper(argument.Name)
	}
	return text
}

func (p *Program) fails(stderr io.Writer, code int, why any) int {
	_, _ = fmt.Fprintf(stderr, "%s: %v\n", p.Name, why)
	return code
}
