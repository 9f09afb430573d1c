package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// childServer is a `gsimc serve` running as a process of its own.
type childServer struct {
	cmd       *exec.Cmd
	grpc, ops string // addresses it listens on

	exited chan struct{} // closed when the process has ended
	err    error         // how it ended; nil: exit code 0. Valid once exited is closed
}

// Times that a server may take to be ready and to drain.
const (
	childStart = 30 * time.Second
	childStop  = 60 * time.Second
)

// startServer starts exe with args, which must be those of serve with JSON logs, and waits until it serves. The child's
// logs are copied to logs.
func startServer(exe string, args []string, env []string, logs io.Writer) (*childServer, error) {
	s := &childServer{cmd: exec.Command(exe, args...), exited: make(chan struct{})}
	s.cmd.Env = env
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	type addresses struct{ grpc, ops string }
	ready := make(chan addresses, 1)
	go func() {
		last := ""
		lines := bufio.NewReader(stderr)
		for ended := false; !ended; {
			line, err := lines.ReadString('\n') // however long: a log line may hold the stack of a panic
			ended = err != nil
			_, _ = io.WriteString(logs, line)
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			last = line
			var record struct{ Msg, Grpc, Ops string }
			if json.Unmarshal([]byte(line), &record) == nil && record.Msg == "serving" {
				ready <- addresses{record.Grpc, record.Ops}
			}
		}
		if err := s.cmd.Wait(); err != nil {
			s.err = fmt.Errorf("%w: %s", err, last)
		}
		close(s.exited)
	}()
	select {
	case a := <-ready:
		s.grpc, s.ops = a.grpc, a.ops
		return s, nil
	case <-s.exited:
		return nil, fmt.Errorf("the server did not start: %w", s.err)
	case <-time.After(childStart):
		return nil, errors.Join(fmt.Errorf("the server was not ready within %s", childStart), s.kill())
	}
}

// stop sends SIGTERM and waits until the server has drained; a server that exits with another code than 0 is an error.
func (s *childServer) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.exited:
		return s.err
	case <-time.After(childStop):
		return errors.Join(fmt.Errorf("the server did not stop within %s", childStop), s.kill())
	}
}

// kill ends the server at once, as a crash would.
func (s *childServer) kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	<-s.exited
	return nil
}
