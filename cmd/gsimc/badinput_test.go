package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// TestBadInput gives bad input to the real binary. Every case must be refused with the right code
// and one line that names the culprit and says what to do. Nothing may be accepted, panic, or leave
// a file behind.
func TestBadInput(t *testing.T) {
	t.Parallel()
	binary(t)
	t.Run("data files", testBadDataFiles)
	t.Run("flags, environment and YAML", testBadSettings)
	t.Run("model files", testBadModelFiles)
}

// badCommand is a command line that must be refused.
type badCommand struct {
	input string // what is wrong; empty: the command line itself
	args  string // split at blanks; $NAME stands for a path
	env   []string
	stdin string // path of the file; empty: none
	exit  int
	want  []string // parts of the message; $NAME as in args
}

// badCommands runs command lines that must be refused.
type badCommands struct {
	dir   string // holds the input files
	out   string // holds model.gsimc, which must stay as it is, and nothing else
	paths *strings.Replacer
}

const oldModel = "the model of yesterday"

// newBadCommands makes the folders; paths are pairs of $NAME and path besides $DIR and $OUT.
func newBadCommands(t *testing.T, paths ...string) *badCommands {
	t.Helper()
	b := &badCommands{dir: t.TempDir(), out: t.TempDir()}
	b.paths = strings.NewReplacer(append(paths, "$DIR", b.dir, "$OUT", b.out)...)
	write(t, filepath.Join(b.out, "model.gsimc"), oldModel)
	return b
}

// write makes an input file.
func (b *badCommands) write(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(b.dir, name), text)
}

// run runs one case with the real binary and checks all that holds for every case.
func (b *badCommands) run(t *testing.T, c badCommand) {
	t.Helper()
	if c.input == "" {
		c.input = strings.TrimSpace(strings.Join(c.env, " ") + " " + c.args)
	}
	code, stdout, stderr := b.execute(t, c)
	logs, message := splitLast(stderr)
	message, isError := strings.CutPrefix(message, "gsimc: ")
	if code != c.exit || !isError || stdout != "" {
		t.Errorf("%s: exit code %d, want %d and only an error\nstdout: %s\nstderr: %s", c.input,
			code, c.exit, stdout, stderr)
	}
	for _, line := range logs {
		if !json.Valid([]byte(line)) { // only serve logs
			t.Errorf("%s: want one line of error, got\n%s", c.input, stderr)
		}
	}
	for _, trace := range []string{"goroutine ", "panic:", "runtime error", ".go:", "--help:",
		"rpc error"} {
		check.Lacks(t, stderr, trace, "%s", c.input)
	}
	if strings.ContainsFunc(message, func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar
	}) {
		t.Errorf("%s: the message cannot be printed: %q", c.input, message)
	}
	for _, want := range c.want {
		says(t, c.input, message, b.paths.Replace(want))
	}
	b.checkOut(t, c.input)
}

// execute runs the binary with the environment of the case and no other, and ends it if it does not
// end by itself.
func (b *badCommands) execute(t *testing.T, c badCommand) (code int, stdout, stderr string) {
	t.Helper()
	args := strings.Fields(c.args)
	for i := range args {
		args[i] = b.paths.Replace(args[i])
	}
	p := proctest.New(t, nil, binary(t), args...)
	p.Cmd.Env, p.Cmd.Dir = []string{}, b.dir
	if c.stdin != "" {
		in := check.Get(os.Open(c.stdin))(t)
		defer in.Close()
		p.Cmd.Stdin = in
	}
	for _, variable := range c.env {
		p.Cmd.Env = append(p.Cmd.Env, b.paths.Replace(variable))
	}
	p.Start(t)
	accepted := time.AfterFunc(30*time.Second, func() { _ = p.Cmd.Process.Kill() })
	if code = p.Wait(); !accepted.Stop() {
		t.Fatalf("%s: still running after 30 s: it was accepted", c.input)
	}
	return code, p.Out.String(), p.Err.String()
}

// checkOut checks that the folder of the output holds the old model as it was and no other file,
// finished or not.
func (b *badCommands) checkOut(t *testing.T, input string) {
	t.Helper()
	entries := check.Get(os.ReadDir(b.out))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	check.Same(t, []string{"model.gsimc"}, names, "%s: files in the folder of the output", input)
	check.Same(t, oldModel, mustRead(t, filepath.Join(b.out, "model.gsimc")),
		"%s: the old model is now", input)
}

// splitLast splits text into its last line and those before it.
func splitLast(text string) (before []string, last string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}
