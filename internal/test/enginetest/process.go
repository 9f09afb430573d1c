package enginetest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/internal/test/proctest"
)

// A Process is a server process that can be ended, paused, and started again. Its methods may be
// called by any goroutine.
type Process struct {
	path string
	args []string
	dir  string
	host Host // nil: that of the test

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	used   time.Duration // processor time of the runs that have ended
}

// NewProcess returns a process that is not running yet. It runs in dir, which must exist, and
// writes its output to the file "output" there.
func NewProcess(dir, path string, args ...string) *Process {
	return &Process{path: path, args: args, dir: dir}
}

// startOn starts a command on a host.
func startOn(host Host, cmd *exec.Cmd) error {
	return proctest.InLastingThread(func() error { return do(host, cmd.Start) })
}

// childDelay is how long the children of a process that has ended are waited for.
const childDelay = 10 * time.Second

// Start starts the process. It does not wait until the server is ready. Starting one that runs does
// nothing.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return nil
	}
	output, err := os.OpenFile(filepath.Join(p.dir, "output"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(p.path, p.args...)
	// Not a file, so a pipe, and Wait waits until the children have closed it too: a child that
	// saves a snapshot outlives its server by a moment, and writes into a folder that is being
	// removed.
	written := struct{ io.Writer }{output}
	cmd.WaitDelay = childDelay
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, written, written
	cmd.SysProcAttr = proctest.DyingWithParent()
	if err := startOn(p.host, cmd); err != nil {
		_ = output.Close()
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() {
		_ = cmd.Wait()
		_ = output.Close()
		p.mu.Lock()
		p.used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		p.mu.Unlock()
		close(exited)
	}()
	return nil
}

// running requires p.mu.
func (p *Process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Running reports whether the process runs; a paused one does.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// Kill ends the process as kill -9 does and waits until it is gone.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// Pause stops the process without ending it, as a machine that hangs.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) end(s syscall.Signal) {
	if exited := p.signal(s); exited != nil {
		<-exited
	}
}

// signal returns a channel that is closed when the process is gone, or nil if it does not run.
func (p *Process) signal(s syscall.Signal) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return nil
	}
	_ = p.cmd.Process.Signal(s) // it may have ended by itself
	return p.exited
}

// PID returns the process id, or 0 if the process does not run.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return 0
	}
	return p.cmd.Process.Pid
}

// ProcessorTime returns how much processor time all runs of the process have used; on Linux with
// the present one.
func (p *Process) ProcessorTime() time.Duration {
	pid := p.PID()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used + processorTime(pid)
}

// Output returns the end of what the process has written, for messages of tests.
func (p *Process) Output() string {
	text, err := os.ReadFile(filepath.Join(p.dir, "output"))
	if err != nil {
		return err.Error()
	}
	const most = 4000
	return string(text[max(len(text)-most, 0):])
}
