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

	"github.com/gsimc/gsimc/internal/test/check"
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
	Cmd      *exec.Cmd     // may be changed before the start
	Out, Err Output        // what it has written
	ended    chan struct{} // closed when it has ended, and all it wrote is here
	err      error         // of its end
	told     bool          // the test knows how it ended
}

// New returns a process that is not started. env is added to the environment of the test.
func New(tb testing.TB, env []string, name string, args ...string) *Process {
	tb.Helper()
	p := &Process{Cmd: exec.Command(name, args...), ended: make(chan struct{})}
	p.Cmd.Env = append(os.Environ(), env...)
	p.Cmd.Stdout, p.Cmd.Stderr, p.Cmd.SysProcAttr = &p.Out, &p.Err, DyingWithParent()
	tb.Cleanup(func() {
		p.Kill()
		if log := p.Err.String(); tb.Failed() && !p.told {
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
	check.Must(tb, InLastingThread(p.Cmd.Start))
	go func() {
		p.err = p.Cmd.Wait()
		close(p.ended)
	}()
}

// Signal sends a signal. A process that has ended gets none, which is no fault.
func (p *Process) Signal(tb testing.TB, sig os.Signal) {
	tb.Helper()
	if err := p.Cmd.Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		check.Must(tb, err)
	}
}

// Limit is how long what has to happen may take, far above what a quiet machine needs.
const Limit = 5 * time.Minute

// Wait waits for the end and returns the exit code. A process that has not ended within [Limit] is
// killed, and its code is -1.
func (p *Process) Wait() int {
	defer time.AfterFunc(Limit, func() { _ = p.Cmd.Process.Kill() }).Stop()
	<-p.ended
	p.told = true
	return p.Cmd.ProcessState.ExitCode()
}

// Kill is SIGKILL.
func (p *Process) Kill() {
	if p.Cmd.Process != nil {
		_ = p.Cmd.Process.Kill() // it may have ended
		<-p.ended
	}
}

// Stop is SIGTERM, after which the exit code must be 0.
func (p *Process) Stop(tb testing.TB) {
	tb.Helper()
	p.Signal(tb, syscall.SIGTERM)
	if <-p.ended; p.err != nil {
		p.told = true
		tb.Errorf("stopping: %v\n%s", p.err, &p.Err)
	}
}

// Says waits until standard error has the pattern, and returns its last group, or all of it. It
// does not wait for a process that has ended.
func (p *Process) Says(tb testing.TB, pattern string) string {
	tb.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	check.Within(tb, Limit, "standard error with "+pattern, func() bool {
		ended := p.hasEnded() // before a look at what it wrote, which is all then
		if found = re.FindStringSubmatch(p.Err.String()); found == nil && ended {
			p.told = true
			tb.Fatalf("it ended (%v) and did not say %s:\n%s", p.Cmd.ProcessState, pattern, &p.Err)
		}
		return found != nil
	})
	return found[len(found)-1]
}

func (p *Process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
