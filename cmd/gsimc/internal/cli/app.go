package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
)

// App is what a command sees of the world around it.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            []string // NAME=VALUE
	Version        string   // of this binary
	Quiet          bool     // show no progress
	Process        bool     // the command line is that of this process, which may start itself anew

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

// Printf writes to standard output. A closed pipe shows at the next system call, so that no line
// has to check for it.
func (a *App) Printf(format string, args ...any) { _, _ = fmt.Fprintf(a.Stdout, format, args...) }

// PrintJSON writes value as indented JSON to standard output.
func (a *App) PrintJSON(value any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
