// Command mutants shows that the tests of a promise can fail. It breaks the code in one place at a
// time, as listed in mutants.txt, and runs the test that must notice: a test that passes is a hole.
// The broken code is an overlay of the compiler's; no file in the repository changes.
//
//	go run ./internal/test/mutants           all mutants
//	go run ./internal/test/mutants NAME...   some of them
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed mutants.txt
var list string

var mutants = parse(list)

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

// parse reads a list of mutants, which are paragraphs: "name: what users would meet", then "file
// test", with the folder of the test if it is another one, and "race". The text that is once in
// the file stands behind "-", what takes its place behind "+". "#" begins a comment.
func parse(list string) (all []mutant) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(list), "\n\n") {
		var m mutant
		var was, is []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			switch text := line[1:]; {
			case line[0] == '#':
			case line[0] == '-':
				was = append(was, text)
			case line[0] == '+':
				is = append(is, text)
			case m.name == "":
				m.name, m.breaks, _ = strings.Cut(line, ": ")
			default:
				words := strings.Fields(line)
				m.file, m.test, m.pkg = words[0], words[1], filepath.Dir(words[0])
				for _, word := range words[2:] {
					if word == "race" {
						m.race = true
					} else {
						m.pkg = word
					}
				}
			}
		}
		m.was, m.is = strings.Join(was, "\n"), strings.Join(is, "\n")
		all = append(all, m)
	}
	return all
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tests the mutants of these names, or all of them, and prints a table.
func run(ctx context.Context, names []string) error {
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
	fmt.Printf("%-16s %-17s %6s %6s  %s\n", "mutant", "outcome", "made s", "test s",
		"what it breaks, and the test")
	for b := range ahead(chosen, dir) {
		began := time.Now()
		outcome, err := b.run(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		if outcome == survived {
			survivors = append(survivors, b.name)
		}
		fmt.Printf("%-16s %-17s %6.1f %6.1f  %s (%s)\n", b.name, outcome, b.took.Seconds(),
			time.Since(began).Seconds(), b.breaks, b.test)
		if b.program != "" {
			_ = os.Remove(b.program) // some have a hundred MB
		}
	}
	if len(survivors) > 0 {
		return fmt.Errorf("no test notices: %s", strings.Join(survivors, ", "))
	}
	return nil
}

// ahead compiles the tests of the mutants in their order. While the test of one mutant runs, that
// of the next one is compiled.
func ahead(chosen []mutant, dir string) <-chan built {
	all := make(chan built)
	go func() {
		defer close(all)
		for i := range chosen {
			all <- chosen[i].build(dir)
		}
	}()
	return all
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
	late     = "killed (time-out)"
)

// built is a mutant with the program of its test.
type built struct {
	*mutant
	program string // empty: there is no compiler for it
	flags   string // of compilers that the test starts
	took    time.Duration
	err     error
}

// build compiles the test of a mutant. One that does not compile is an error.
func (m *mutant) build(dir string) (b built) {
	began := time.Now()
	b.mutant = m
	defer func() { b.took = time.Since(began) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		b.err = err
		return b
	}
	b.flags = "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay)
	b.program, b.err = m.compile(filepath.Join(dir, m.name+".test"), b.flags)
	return b
}

// compile makes the program of the test, empty if the machine cannot.
func (m *mutant) compile(program, flags string) (string, error) {
	args, cgo := []string{"test", "-c", "-o", program}, "CGO_ENABLED=0"
	if m.race {
		if _, err := exec.LookPath("gcc"); err != nil {
			return "", nil
		}
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	c := exec.Command("go", append(args, ".")...)
	c.Dir = m.pkg // it may be of another module
	c.Env = append(os.Environ(), flags, cgo)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the mutant does not compile: %w\n%s", err, out)
	}
	return program, nil
}

// A test that waits in vain for what the mutant prevents is not waited for: it is killed after
// slowTest, but not before it has taken slower times as long as without the mutant, and as much
// besides as a start may differ.
const (
	slowTest = 15 * time.Second
	slower   = 4
	moment   = 5 * time.Second
)

// run runs the test of the mutant. A mutant whose test does not exist is an error.
func (b *built) run(ctx context.Context, dir string) (outcome string, err error) {
	if b.err != nil || b.program == "" {
		return skipped + ": no C compiler", b.err
	}
	ofTest, cancel := context.WithCancel(ctx)
	defer cancel()
	test, out := b.command(ofTest, b.program, b.flags)
	if err := test.Start(); err != nil {
		return "", err
	}
	began, ended := time.Now(), make(chan error, 1)
	go func() {
		ended <- test.Wait()
		close(ended)
	}()
	end := func() {
		cancel()
		for range ended {
		}
	}
	select {
	case err = <-ended:
	case <-time.After(slowTest):
		normal, whole := b.normal(ctx, dir)
		if ctx.Err() != nil {
			end()
			return "", ctx.Err()
		}
		if whole != nil {
			end()
			return "", fmt.Errorf("%s fails without the mutant: %w", b.test, whole)
		}
		select {
		case err = <-ended:
		case <-time.After(time.Until(began.Add(slower*normal + moment))):
			end()
			return late, nil
		}
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case bytes.Contains(out.Bytes(), []byte("panic: test timed out")):
		return "", fmt.Errorf("%s does not end: a test that notices should say so", b.test)
	case bytes.Contains(out.Bytes(), []byte("no tests to run")):
		return "", fmt.Errorf("there is no test %q in %s", b.test, b.pkg)
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return survived, nil
	case errors.As(err, new(*exec.ExitError)):
		return killed, nil
	}
	return "", err
}

// normal returns how long the test takes without the mutant.
func (b *built) normal(ctx context.Context, dir string) (time.Duration, error) {
	flags := "GOFLAGS=" + os.Getenv("GOFLAGS")
	program, err := b.compile(filepath.Join(dir, "whole.test"), flags)
	if err != nil {
		return 0, err
	}
	test, _ := b.command(ctx, program, flags)
	began := time.Now()
	err = test.Run()
	return time.Since(began), err
}

// command is the program of the test in the folder of its package, and what it will have printed.
// If ctx ends, the test is killed with the servers that it has started.
func (b *built) command(
	ctx context.Context, program, flags string,
) (*exec.Cmd, *bytes.Buffer) {
	c := exec.CommandContext(ctx, program, "-test.timeout=10m", "-test.failfast",
		"-test.run="+b.test)
	out := new(bytes.Buffer)
	c.Dir, c.Stdout, c.Stderr = b.pkg, out, out
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = moment // a server that the test left may hold what it prints to
	c.Env = append(os.Environ(), flags, "CGO_ENABLED=0")
	return c, out
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
