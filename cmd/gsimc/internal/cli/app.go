package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/internal/fault"
)

// App is what a command sees of the world around it.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            []string // NAME=VALUE
	Version        string   // of this binary
	Quiet          bool     // show no progress
	Process        bool     // the command line is that of this process, which may start itself anew
	Inner          bool     // another command runs this one, and says itself what comes next

	// Self runs another command line of this program in this process and returns its exit code.
	Self func(stdin io.Reader, stdout, stderr io.Writer, env []string, args ...string) int
}

// Variable returns the value of a variable of an environment of NAME=VALUE strings.
func Variable(env []string, name string) (value string, given bool) {
	for _, entry := range env {
		if value, given = strings.CutPrefix(entry, name+"="); given {
			return value, true
		}
	}
	return "", false
}

// Progress returns the display of a command's stages, on standard error.
func (a *App) Progress() progress.Progress { return progress.New(a.Stderr, a.Quiet) }

// printed is standard output. It keeps the first error, so that no line has to check for it, and a
// command that printed in vain fails at its end.
type printed struct {
	w   io.Writer
	err error
}

func (p *printed) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// end returns the exit code of a command that has done its work.
func (p *printed) end(stderr io.Writer) int {
	if p.err != nil {
		return fail(stderr, fmt.Sprintf("standard output: %v", fault.Cause(p.err)), ExitFailure)
	}
	return ExitOK
}

// Printf writes to standard output. The command fails at its end if that did not go.
func (a *App) Printf(format string, args ...any) { _, _ = fmt.Fprintf(a.Stdout, format, args...) }

// PrintJSON writes value as indented JSON to standard output.
func (a *App) PrintJSON(value any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
