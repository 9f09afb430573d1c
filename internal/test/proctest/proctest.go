// Package proctest runs programs as processes of a test.
package proctest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Output collects what is written, and may be read meanwhile.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns all that was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Process is a program that the end of the test kills.
type Process struct {
	Cmd      *exec.Cmd // may be changed before the start
	Out, Err Output    // what it has written
	waited   bool      // the test knows how it ended
}

// New returns a process that is not started. env is added to the environment of the test.
func New(tb testing.TB, env []string, name string, args ...string) *Process {
	tb.Helper()
	p := &Process{Cmd: exec.Command(name, args...)}
	p.Cmd.Env = append(os.Environ(), env...)
	p.Cmd.Stdout, p.Cmd.Stderr, p.Cmd.SysProcAttr = &p.Out, &p.Err, DyingWithParent()
	tb.Cleanup(func() {
		p.Kill()
		if log := p.Err.String(); tb.Failed() && !p.waited {
			tb.Logf("standard error of %s:\n%s", filepath.Base(name), log[max(0, len(log)-4000):])
		}
	})
	return p
}

// Start is New, and starts the process.
func Start(tb testing.TB, env []string, name string, args ...string) *Process {
	tb.Helper()
	p := New(tb, env, name, args...)
	p.Start(tb)
	return p
}

// lasting are run by one thread that never ends.
var lasting = sync.OnceValue(func() chan func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range c {
			f()
		}
	}()
	return c
})

// InLastingThread runs what starts a process in a thread that does not end before the test: with
// the thread that has started it the kernel ends a process that is [DyingWithParent].
func InLastingThread(start func() error) error {
	started := make(chan error)
	lasting() <- func() { started <- start() }
	return <-started
}

// Start starts the process.
func (p *Process) Start(tb testing.TB) {
	tb.Helper()
	if err := InLastingThread(p.Cmd.Start); err != nil {
		tb.Fatal(err)
	}
}

// Signal sends a signal.
func (p *Process) Signal(tb testing.TB, sig os.Signal) {
	tb.Helper()
	if err := p.Cmd.Process.Signal(sig); err != nil {
		tb.Fatal(err)
	}
}

// Wait waits for the end and returns the exit code. A process that has not ended within [Limit] is
// killed, and its code is -1.
func (p *Process) Wait() int {
	defer time.AfterFunc(Limit, func() { _ = p.Cmd.Process.Kill() }).Stop()
	_ = p.Cmd.Wait() // the code says it
	p.waited = true
	return p.Cmd.ProcessState.ExitCode()
}

// Kill is SIGKILL.
func (p *Process) Kill() {
	if p.Cmd.Process != nil {
		_ = p.Cmd.Process.Kill() // it may have ended
		_ = p.Cmd.Wait()
	}
}

// Stop is SIGTERM, after which the exit code must be 0.
func (p *Process) Stop(tb testing.TB) {
	tb.Helper()
	if err := errors.Join(p.Cmd.Process.Signal(syscall.SIGTERM), p.Cmd.Wait()); err != nil {
		p.waited = true // what it said stands here
		tb.Errorf("stopping: %v\n%s", err, &p.Err)
	}
}

// Says waits until standard error has the pattern, and returns its last group, or all of it.
func (p *Process) Says(tb testing.TB, pattern string) string {
	tb.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	Await(tb, "standard error with "+pattern, func() bool {
		found = re.FindStringSubmatch(p.Err.String())
		return found != nil
	})
	return found[len(found)-1]
}

// Limit is how long what has to happen may take, far above what a quiet machine needs.
const Limit = 5 * time.Minute

// Await waits until a condition of another process holds.
func Await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(Limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %s: %s", Limit, what)
		}
	}
}
