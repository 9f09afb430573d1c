package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
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
	if err := os.WriteFile(filepath.Join(b.out, "model.gsimc"), []byte(oldModel),
		0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// write makes an input file and returns its path.
func (b *badCommands) write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
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
		if strings.Contains(stderr, trace) {
			t.Errorf("%s: %q in\n%s", c.input, trace, stderr)
		}
	}
	if strings.ContainsFunc(message, func(r rune) bool {
		return !unicode.IsPrint(r) ||
			r == unicode.ReplacementChar
	}) {
		t.Errorf("%s: the message cannot be printed: %q", c.input, message)
	}
	for _, want := range c.want {
		if want = b.paths.Replace(want); !strings.Contains(message, want) {
			t.Errorf("%s: %q not in the message %q", c.input, want, message)
		}
	}
	b.checkOut(t, c.input)
}

// execute runs the binary with the environment of the case and no other, and ends it if it does not
// end by itself.
func (b *badCommands) execute(t *testing.T, c badCommand) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	args := strings.Fields(c.args)
	for i := range args {
		args[i] = b.paths.Replace(args[i])
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, binary(t), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = []string{}, &out, &errs, b.dir
	for _, variable := range c.env {
		cmd.Env = append(cmd.Env, b.paths.Replace(variable))
	}
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("%s: %v", c.input, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s: still running after 30 s: it was accepted", c.input)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// checkOut checks that the folder of the output holds the old model as it was and no other file,
// finished or not.
func (b *badCommands) checkOut(t *testing.T, input string) {
	t.Helper()
	entries, err := os.ReadDir(b.out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"model.gsimc"}, names); diff != "" {
		t.Errorf("%s: files in the folder of the output (-want +got):\n%s", input, diff)
	}
	if data, err := os.ReadFile(filepath.Join(b.out, "model.gsimc")); err != nil ||
		string(data) != oldModel {
		t.Errorf("%s: the old model was touched: %v", input, err)
	}
}

// splitLast splits text into its last line and those before it.
func splitLast(text string) (before []string, last string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}
