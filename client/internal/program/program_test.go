package program

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/cmdline"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
)

// Each end has its exit code, and each error but that of a signal its text.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		args string
		err  error
		code int
		said string // to both
	}{
		{"", nil, 0, ""},
		{"--version", nil, 0, "v1\n"},
		{"--lanes=x", nil, Usage, "p: --lanes: \"x\", want a whole number, such as 1000 (see p --help)\n"},
		{"--lanes -1", nil, 0, ""},
		{"--lanes -x", nil, Usage, "p: --lanes: \"-x\", want a whole number, such as 1000 (see p --help)\n"},
		{"--lanes", nil, Usage, "p: --lanes: want a value after it (see p --help)\n"},
		{"--every 3", nil, Usage, "p: --every: \"3\" is not a duration: want one such as 90s, 1h30m " +
			"or 30d (see p --help)\n"},
		{"--none", nil, Usage, "p: unknown flag --none (see p --help)\n"},
		{"", fault.New("Lanes", 0, "at least 1"), Usage,
			"p: the flag of Lanes: 0, want at least 1 (see p --help)\n"},
		{"", errors.New("no"), Failure, "p: no\n"},
		{"", ErrInterrupted, Interrupted, ""},
	} {
		var flags struct {
			Lanes   int
			Every   time.Duration
			Version kong.VersionFlag
		}
		p := Program{Name: "p", Version: "v1",
			FlagOf: func(field string) string { return "the flag of " + field }}
		var said bytes.Buffer
		code := p.Run(strings.Fields(c.args), &flags, &said, &said, func(string) error { return c.err })
		check.Same(t, c.code, code, "the exit code of %+v", c)
		check.Same(t, c.said, said.String(), "what was said of %+v", c)
	}
}

// A wrong value of the environment is told with its variable.
func TestEnvironment(t *testing.T) {
	t.Setenv("P_LANES", "x")
	var flags struct {
		Lanes int `env:"P_LANES"`
	}
	var said bytes.Buffer
	(&Program{Name: "p"}).Run(nil, &flags, &said, &said, nil)
	check.Same(t, "p: --lanes: \"x\", want a whole number, such as 1000 (from P_LANES=\"x\"; "+
		"see p --help)\n", said.String(), "the error")
}

// A command without its arguments is refused with all of them.
func TestMissingArguments(t *testing.T) {
	for args, want := range map[string]string{
		"":               "p: want the command put or list (see p --help)\n",
		"put":            "p: put: want the arguments FROM TO (see p put --help)\n",
		"put a":          "p: put: want the arguments FROM TO (see p put --help)\n",
		"put --nonesuch": "p: unknown flag --nonesuch (see p put --help)\n",
		"list":           "",
		"put a bc":       "",
	} {
		var flags struct {
			Put struct {
				From string `arg:""`
				To   string `arg:""`
			} `cmd:""`
			List struct{} `cmd:""`
		}
		var said bytes.Buffer
		(&Program{Name: "p"}).Run(strings.Fields(args), &flags, &said, &said,
			func(string) error { return nil })
		check.Same(t, want, said.String(), "what was said of %q", args)
	}
}

// Each error about the flags of a command names the manual of that command.
func TestHelpOfCommand(t *testing.T) {
	for args, want := range map[string]string{
		"get --every":   "p: --every: want a value after it (see p get --help)\n",
		"get --every 3": "p: --every: \"3\" is not a duration: want one such as 90s, 1h30m or 30d (see p get --help)\n",
		"get --ever 3s": "p: unknown flag --ever, did you mean \"--every\"? (see p get --help)\n",
		"get":           "p: the flag of Every: 0s, want at least 1s (see p get --help)\n",
		"--every":       "p: unknown flag --every (see p --help)\n",
	} {
		var flags struct {
			Get struct{ Every time.Duration } `cmd:""`
		}
		p := Program{Name: "p", FlagOf: func(field string) string { return "the flag of " + field }}
		var said bytes.Buffer
		code := p.Run(strings.Fields(args), &flags, &said, &said,
			func(string) error { return fault.New("Every", flags.Get.Every, "at least 1s") })
		check.Same(t, Usage, code, "the exit code of %q", args)
		check.Same(t, want, said.String(), "what was said of %q", args)
	}
}

// A program that the linker gave no version has that of its build.
func TestVersion(t *testing.T) {
	var flags struct{ Version kong.VersionFlag }
	var said bytes.Buffer
	(&Program{Name: "p"}).Run([]string{"--version"}, &flags, &said, &said, nil)
	check.Same(t, cmdline.Version("")+"\n", said.String(), "the version")
}
