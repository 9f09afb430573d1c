// Package child starts a `gsimc serve`, or another command that says where it serves, as a process
// of its own.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Addresses has the address of each listener of a server. JSON is empty if there is no such
// listener.
type Addresses struct{ GRPC, Admin, Ops, JSON string }

// Server is a process of its own that serves.
type Server struct {
	Addresses

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
	err    error         // how it ended; nil: exit code 0. Valid once exited is closed
}

// Times that a server may take to be ready and to drain.
const (
	startLimit = 5 * time.Minute // a catalogue of millions of items takes a while
	stopLimit  = 60 * time.Second
)

// Self starts this program again with args, in this environment and without its logs. The arguments
// must be those of a command that logs JSON.
func Self(ctx context.Context, args ...string) (*Server, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return Start(ctx, exe, args, os.Environ(), io.Discard)
}

// Start starts exe with args, which must be those of serve with JSON logs, and waits until it
// serves. If ctx ends before, the process is killed; afterwards ctx has no effect. The logs are
// copied to logs.
func Start(
	ctx context.Context, exe string, args []string, env []string, logs io.Writer,
) (*Server, error) {
	s := &Server{cmd: exec.Command(exe, args...), exited: make(chan struct{})}
	s.cmd.Env = env
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan Addresses, 1)
	go func() {
		last := ""
		lines := bufio.NewReader(stderr)
		for ended := false; !ended; {
			// of any length: a line may hold the stack of a panic
			line, err := lines.ReadString('\n')
			ended = err != nil
			_, _ = io.WriteString(logs, line)
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			last = line
			var record struct {
				Msg string
				Addresses
			}
			if json.Unmarshal([]byte(line), &record) == nil && record.Msg == "serving" {
				ready <- record.Addresses
			}
		}
		if err := s.cmd.Wait(); err != nil {
			s.err = fmt.Errorf("%w: %s", err, last)
		}
		close(s.exited)
	}()
	select {
	case a := <-ready:
		s.Addresses = a
		return s, nil
	case <-s.exited:
		return nil, fmt.Errorf("the server did not start: %w", s.err)
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.Kill())
	case <-time.After(startLimit):
		return nil, errors.Join(fmt.Errorf("the server was not ready within %s", startLimit),
			s.Kill())
	}
}

// PID returns the id of the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Path returns the path of the program.
func (s *Server) Path() string { return s.cmd.Path }

// Exited is closed when the process has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Err returns how the process ended; nil: with exit code 0, or it has not ended.
func (s *Server) Err() error {
	select {
	case <-s.exited:
		return s.err
	default:
		return nil
	}
}

// Signal sends a signal to the process.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Stop sends SIGTERM and waits until the server has drained. A server that exits with another code
// than 0 is an error.
func (s *Server) Stop() error {
	if runtime.GOOS == "windows" { // which has no such signal
		return s.Kill()
	}
	if err := s.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.exited:
		return s.err
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("the server did not stop within %s", stopLimit), s.Kill())
	}
}

// Kill ends the server at once, as a crash would.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	<-s.exited
	return nil
}
