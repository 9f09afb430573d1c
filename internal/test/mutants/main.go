// Command mutants shows that the tests of a promise can fail. It breaks the code in one place at a
// time, as listed in list.go and liststores.go, and runs the test that must notice: a test that
// passes is a hole. The broken code is an overlay of the compiler's; no file in the repository
// changes.
//
//	go run ./internal/test/mutants           all mutants
//	go run ./internal/test/mutants NAME...   some of them
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A mutant is a fault that somebody could make, and the test that notices it.
type mutant struct {
	name   string
	breaks string // what users would meet
	file   string
	was    string // a text that is once in the file
	is     string // what takes its place
	pkg    string
	test   string // regular expression of go test -run
	race   bool   // only the race detector notices
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tests the mutants of these names, or all of them, and prints a table.
func run(names []string) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder of temporary files
	var survivors []string
	fmt.Printf("%-16s %-10s %6s  %s\n", "mutant", "outcome", "s", "what it breaks, and the test")
	for _, m := range chosen {
		began := time.Now()
		outcome, err := m.try(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if outcome == survived {
			survivors = append(survivors, m.name)
		}
		fmt.Printf("%-16s %-10s %6.1f  %s (%s)\n", m.name, outcome, time.Since(began).Seconds(),
			m.breaks, m.test)
	}
	if len(survivors) > 0 {
		return fmt.Errorf("no test notices: %s", strings.Join(survivors, ", "))
	}
	return nil
}

func choose(names []string) ([]mutant, error) {
	if len(names) == 0 {
		return mutants, nil
	}
	var chosen []mutant
	for _, name := range names {
		i := slices.IndexFunc(mutants, func(m mutant) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutant %q: see internal/test/mutants", name)
		}
		chosen = append(chosen, mutants[i])
	}
	return chosen, nil
}

// The outcomes of a mutant.
const (
	killed   = "killed"
	survived = "SURVIVED"
	skipped  = "skipped"
)

// try runs the test of the mutant. A mutant that does not compile, or whose test does not exist, is
// an error.
func (m *mutant) try(dir string) (outcome string, err error) {
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	args := []string{"test", "-count=1", "-timeout=10m", "-run=" + m.test}
	// For compilers that a test starts, too.
	flags := "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay)
	cgo := "CGO_ENABLED=0"
	if m.race {
		if _, err := exec.LookPath("gcc"); err != nil {
			return skipped + ": no C compiler", nil
		}
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	out, err := m.goTool(flags, cgo, append(args, m.pkg)...)
	switch {
	case bytes.Contains(out, []byte("[build failed]")):
		return "", fmt.Errorf("the mutant does not compile:\n%s", out)
	case bytes.Contains(out, []byte("panic: test timed out")):
		return "", fmt.Errorf("%s does not end: a test that notices should say so", m.test)
	case bytes.Contains(out, []byte("no tests to run")):
		return "", fmt.Errorf("there is no test %q in %s", m.test, m.pkg)
	case err == nil:
		return survived, nil
	case errors.As(err, new(*exec.ExitError)):
		return killed, nil
	}
	return "", err
}

func (m *mutant) goTool(flags, cgo string, args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), flags, cgo)
	return c.CombinedOutput()
}

// overlay writes the broken file, and the JSON by which the compiler takes it for the real one.
func (m *mutant) overlay(dir string) (string, error) {
	code, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(code), m.was); n != 1 {
		return "", fmt.Errorf("%s has the text %q %d times, want once: the code has changed, and "+
			"the mutant must follow", m.file, m.was, n)
	}
	broken := filepath.Join(dir, m.name+".go")
	code = []byte(strings.Replace(string(code), m.was, m.is, 1))
	if err := os.WriteFile(broken, code, 0o600); err != nil {
		return "", err
	}
	real, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{real: broken}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, m.name+".json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
