package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/cmdline"
)

// A Program is a command line: its grammar and the values that the grammar's tags refer to.
type Program struct {
	Version string
	Process bool // the command line is that of this process
	// New returns a pointer to a fresh grammar: a struct with [Root] and the commands.
	New  func() any
	Vars kong.Vars

	inner bool // see App.Inner
}

// checker is a command that checks its flags together. Its errors are wrong usage.
type checker interface{ Check() error }

// idler is a command with a table of flags that do nothing beside others, the first reason first.
type idler interface{ Idle() []Idle }

// Run runs the command line args and returns the exit code. env holds NAME=VALUE strings.
func (p *Program) Run(stdin io.Reader, stdout, stderr io.Writer, env []string, args ...string) int {
	out := &printed{w: stdout}
	a := &App{
		Stdin: stdin, Stdout: out, Stderr: stderr, Env: env,
		Version: p.Version, Process: p.Process, Inner: p.inner,
	}
	self := *p
	self.Process, self.inner = false, true
	a.Self = self.Run
	l, err := p.newLine(a)
	if err != nil {
		return fail(stderr, err.Error(), ExitFailure)
	}
	if len(args) == 0 {
		printHelp(l.parser, stderr)
		return ExitUsage
	}
	ctx, err := l.parse(args)
	if l.exited {
		return out.end(stderr)
	}
	if err != nil {
		return fail(stderr, l.text(ctx, err)+hint(ctx), ExitUsage)
	}
	if p.Process {
		for _, text := range l.settings.mistyped(flagNames(l.parser.Model.Node)) {
			_, _ = fmt.Fprintf(stderr, "gsimc: %s\n", text)
		}
	}
	LimitMemory(env, 0)
	if err := ctx.Run(a); err != nil {
		return fail(stderr, l.text(ctx, err), exitCode(err))
	}
	return out.end(stderr)
}

// Parser returns the parser of the grammar, for those who list its commands and flags.
func (p *Program) Parser() (*kong.Kong, error) {
	l, err := p.newLine(&App{})
	return l.parser, err
}

// line is one command line that is being read.
type line struct {
	app      *App
	root     *Root
	parser   *kong.Kong
	settings *settings
	exited   bool // by --help, after which kong goes on parsing
}

func (p *Program) newLine(a *App) (*line, error) {
	l := &line{app: a, settings: newSettings(a.Env)}
	grammar := p.New()
	if g, ok := grammar.(interface{ globals() *Root }); ok {
		l.root = g.globals()
	}
	parser, err := kong.New(grammar, append(cmdline.Values(),
		kong.Name("gsimc"),
		kong.Description(description),
		kong.Writers(a.Stdout, a.Stderr),
		kong.Exit(func(int) { l.exited = true }),
		kong.Resolvers(l.settings),
		kong.Bind(l.settings, a),
		kong.TypeMapper(reflect.TypeFor[map[string]float64](), kong.MapperFunc(weights)),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), kong.MapperFunc(logLevel)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}),
		kong.PostBuild(p.insertVars),
	)...)
	l.parser = parser
	return l, err
}

// weights reads the weights of event types, which are the only flags of their type: TYPE=W with
// commas between.
func weights(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("weights", &text); err != nil {
		return err
	}
	if target.IsNil() {
		target.Set(reflect.ValueOf(map[string]float64{}))
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(pair, "=")
		weight, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return fmt.Errorf("%q, want TYPE=W, such as view=0.2", pair)
		}
		target.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(weight))
	}
	return nil
}

// logLevel reads the level of a log.
func logLevel(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("level", &text); err != nil {
		return err
	}
	var level slog.Level
	if level.UnmarshalText([]byte(text)) != nil {
		return fmt.Errorf("%q, want debug, info, warn or error", text)
	}
	target.Set(reflect.ValueOf(level))
	return nil
}

// insertVars puts [Program.Vars] where the tags refer to them. Kong would do that too, but it looks
// for variables in the text of each of them again for each flag, which takes longer than all else
// of a short command.
func (p *Program) insertVars(k *kong.Kong) error {
	pairs := make([]string, 0, 2*len(p.Vars))
	for name, text := range p.Vars {
		pairs = append(pairs, "${"+name+"}", text)
	}
	r := strings.NewReplacer(pairs...)
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		switch n := node.(type) {
		case *kong.Value:
			n.Default, n.Enum, n.Help = r.Replace(n.Default), r.Replace(n.Enum), r.Replace(n.Help)
		case *kong.Flag:
			n.PlaceHolder = r.Replace(n.PlaceHolder)
		}
		return next(nil)
	})
}

// parse reads and checks args. The context is not nil if the command is known.
func (l *line) parse(args []string) (*kong.Context, error) {
	// Kong takes a value that is missing for an empty one.
	if _, wanting := cmdline.Walk(l.parser.Model.Node, args); wanting != nil {
		ctx, _ := kong.Trace(l.parser, args[:len(args)-1]) // of an error, what came before it
		return ctx, Usagef("--%s: want a value after it", wanting.Name)
	}
	ctx, err := l.parser.Parse(args)
	if e := new(kong.ParseError); errors.As(err, &e) {
		return e.Context, err
	}
	if err != nil {
		return nil, err
	}
	if l.root != nil {
		l.app.Quiet = l.root.Quiet
	}
	if node := ctx.Selected(); node != nil && node.Target.CanAddr() {
		if c, ok := node.Target.Addr().Interface().(idler); ok {
			err = refuseIdle(ctx, l.settings, c.Idle())
		}
		if c, ok := node.Target.Addr().Interface().(checker); ok && err == nil {
			err = c.Check()
		}
		if err == nil {
			err = l.checkOutputs(ctx)
		}
	}
	return ctx, err
}

// text words an error of the selected command.
func (l *line) text(ctx *kong.Context, err error) string {
	x := explainer{sources: l.settings.source, flag: func(field string) string { return field }}
	if ctx != nil && ctx.Selected() != nil {
		known := map[string]bool{}
		for _, flag := range ctx.Flags() {
			known[flag.Name] = true
		}
		x.flag = func(field string) string {
			if name := flagName(field); known[name] {
				return "--" + name
			}
			return field
		}
	}
	return x.text(err)
}

// hint says where the command line is explained, and which flag an argument may lack.
func hint(ctx *kong.Context) string {
	if ctx == nil || ctx.Selected() == nil {
		return " (see gsimc help)"
	}
	meant := ""
	rest := ctx.Path[len(ctx.Path)-1].Remainder() // begins with what was not understood
	switch of := ctx.Selected().Positional; {
	case len(rest) == 0:
	case strings.HasPrefix(rest[0], "--data") && len(of) > 0 &&
		strings.HasPrefix(of[0].Name, "file"): // --data is a flag of train
		meant = "; give the file as an argument, without a flag"
	case !strings.HasPrefix(rest[0], "-"):
		at := slices.IndexFunc(leftOut, func(name string) bool {
			return slices.ContainsFunc(ctx.Selected().Flags,
				func(flag *kong.Flag) bool { return flag.Name == name && !flag.Set })
		})
		if at >= 0 {
			meant = fmt.Sprintf("; did you mean --%s %s?", leftOut[at], rest[0])
		}
	}
	return fmt.Sprintf("%s (see gsimc help %s)", meant, ctx.Selected().Path())
}

// leftOut are the flags that are left out before their values most often, the likeliest first.
var leftOut = []string{"data", "user", "model", "from", "out"}

// fail prints the text of an error as one line and returns the exit code.
func fail(stderr io.Writer, text string, code int) int {
	_, _ = fmt.Fprintf(stderr, "gsimc: %s\n", oneLine(text))
	return code
}

// oneLine joins the lines of a text.
func oneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		switch before := b.String(); {
		case before == "":
		case strings.HasSuffix(before, ":"):
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(strings.TrimSpace(line))
	}
	return b.String()
}
