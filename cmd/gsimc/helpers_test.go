package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
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
