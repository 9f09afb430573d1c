package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// runCLI runs a command in this process and returns its exit code and what it wrote.
func runCLI(t testing.TB, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &errs, env)
	return code, out.String(), errs.String()
}

// refused runs a command in this process that must end with the code and say what is wanted.
func refused(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	got, _, stderr := runCLI(t, nil, args...)
	if got != code || !strings.Contains(stderr, want) {
		t.Errorf("gsimc %s: exit code %d, stderr %q, want %d and %q", strings.Join(args, " "), got,
			stderr, code, want)
	}
}

// mustRun is runCLI for a command that must end well. It returns what it wrote on standard output.
func mustRun(t testing.TB, args ...string) string {
	t.Helper()
	stdout, _ := mustRunIn(t, nil, args...)
	return stdout
}

// mustRunIn is mustRun with an environment. It returns what was written on standard error as well.
func mustRunIn(t testing.TB, env []string, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := runCLI(t, env, args...)
	check.MustSame(t, cli.ExitOK, code, "gsimc %s: %s: exit code", strings.Join(args, " "), stderr)
	return stdout, stderr
}

// decode reads JSON.
func decode(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}

// says wants texts in what something has printed.
func says(t testing.TB, what, printed string, want ...string) {
	t.Helper()
	for _, w := range want {
		check.Has(t, printed, w, "%s", what)
	}
}

// writeFile writes a file to a folder of its own, and returns its path.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, text)
	return path
}

func write(t testing.TB, path, text string) {
	t.Helper()
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

// replace puts a file in the place of the one at the path, whole at once.
func replace(t testing.TB, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	check.Must(t, os.Rename(path+".new", path))
}

// mustRead returns what is in a file.
func mustRead(t testing.TB, path string) string {
	t.Helper()
	content := check.Get(os.ReadFile(path))(t)
	return string(content)
}

// mustBeEmpty wants a folder with nothing in it.
func mustBeEmpty(t testing.TB, dir string) {
	t.Helper()
	check.Same(t, 0, len(check.Get(os.ReadDir(dir))(t)), "files left behind")
}

// eventually asks every few milliseconds whether a condition holds, until it does or the limit has
// passed, which is far above what a quiet machine needs. It returns whether the condition held.
func eventually(holds func() bool) bool {
	const limit = 2 * time.Minute
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !eventually(holds) {
		t.Fatalf("not in time: %s", what)
	}
}
