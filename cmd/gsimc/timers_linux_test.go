package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// TestServeStartsWithSlack asks the kernel for the slack of a server's first thread, and looks for
// traces of how it came there.
func TestServeStartsWithSlack(t *testing.T) {
	_, model := smallModel(t)
	p := startServe(t, model, t.TempDir())
	defer p.mustStop(t)
	process := fmt.Sprintf("/proc/%d/", p.PID())
	slack, err := os.ReadFile(process + "timerslack_ns")
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the slack of another process cannot be read here: %v", err)
	}
	check.Must(t, err)
	check.Same(t, fmt.Sprint(time.Millisecond.Nanoseconds()), strings.TrimSpace(string(slack)),
		"the slack in ns, a millisecond")
	if !startedAnew(t, p.PID()) {
		t.Error("no trace of a new start: TestOnlyServeStartsAnew finds nothing")
	}
	if args, err := os.ReadFile(process + "cmdline"); err != nil ||
		!strings.HasPrefix(string(args), p.Path()+"\x00serve\x00") {
		t.Errorf("the arguments are %q, %v; want those that the process was started with", args,
			err)
	}
}

// startedAnew returns whether a process was replaced for its timer slack: it has the mark in its
// environment then.
func startedAnew(t *testing.T, pid int) bool {
	t.Helper()
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(env) == 0 {
		t.Fatalf("the environment of the process: %q, %v", env, err)
	}
	return strings.Contains(string(env), "STARTED_WITH_TIMER_SLACK=")
}

// Other commands with the word serve in them are not started anew.
func TestOnlyServeStartsAnew(t *testing.T) {
	soak.Processes(t, "the real binary")
	t.Run("item", func(t *testing.T) {
		address, accepted := silentServer(t)
		p := gsimc(t, "observe", "--user", "u", "--item", "serve", "--server", address, "--timeout",
			"1m")
		<-accepted
		if startedAnew(t, p.Cmd.Process.Pid) {
			t.Error("it was started anew")
		}
	})
	t.Run("help", func(t *testing.T) {
		cmd := exec.Command(binary(t), "help", "serve")
		out := check.Get(cmd.StdoutPipe())(t)
		// The manual is longer than a page, so that the process waits for its reader.
		pipe := out.(*os.File).Fd()
		if _, err := unix.FcntlInt(pipe, unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
			t.Skipf("the size of a pipe cannot be set here: %v", err)
		}
		check.Must(t, cmd.Start())
		check.Get(out.Read(make([]byte, 1)))(t)
		if startedAnew(t, cmd.Process.Pid) {
			t.Error("it was started anew")
		}
		if rest, err := io.ReadAll(out); err != nil || len(rest) < os.Getpagesize() {
			t.Errorf("%d bytes of manual, %v", len(rest), err)
		}
		_ = cmd.Wait()
	})
}
