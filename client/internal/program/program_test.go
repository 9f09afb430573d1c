package program

import (
	"bytes"
	"errors"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
)

// Each end has its exit code, and each error but that of a signal its text.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		args []string
		err  error
		code int
		said string // to both
	}{
		{nil, nil, 0, ""},
		{[]string{"--version"}, nil, 0, "v1\n"},
		{[]string{"--lanes=x"}, nil, Usage, "p: --lanes: expected a valid 64 bit int but got \"x\"\n"},
		{nil, fault.New("Lanes", 0, "at least 1"), Usage, "p: the flag of Lanes: 0, want at least 1\n"},
		{nil, errors.New("no"), Failure, "p: no\n"},
		{nil, ErrInterrupted, Interrupted, ""},
	} {
		var flags struct {
			Lanes   int
			Version kong.VersionFlag
		}
		p := Program{Name: "p", Version: "v1",
			FlagOf: func(field string) string { return "the flag of " + field }}
		var said bytes.Buffer
		code := p.Run(c.args, &flags, &said, &said, func(string) error { return c.err })
		check.Same(t, c.code, code, "the exit code of %+v", c)
		check.Same(t, c.said, said.String(), "what was said of %+v", c)
	}
}
