// Package served runs gsimc serve, or another program that logs where it serves, as a process of
// its own, as its users do.
package served

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
)

// Server is a running server.
type Server struct {
	Address string // of gRPC
	Ops     string // of the probes; empty: it has none

	cmd    *exec.Cmd
	exited chan error // how it ended
}

// How long the server may take to serve and to drain.
const (
	startTime = 5 * time.Minute // a catalogue of millions of items takes a while
	stopTime  = 60 * time.Second
)

// Start serves a model on free loopback ports with these flags, and waits until it does. dir is the
// folder of the store; empty: the flags name a store that has none. The server ends by Close or
// with ctx.
func Start(ctx context.Context, gsimc, model, dir string, flags ...string) (*Server, error) {
	args := []string{"serve", "--model", model, "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--drain-delay", "0s",
		"--log-format", "json"}
	if dir != "" {
		args = append(args, "--data-dir", dir)
	}
	s, err := Run(ctx, gsimc, append(args, flags...)...)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: make build makes the program", err)
	}
	return s, err
}

// Run starts a program that logs in JSON where it serves, and waits until it has. It ends by Close
// or with ctx.
func Run(ctx context.Context, program string, args ...string) (*Server, error) {
	s := &Server{exited: make(chan error, 1)}
	s.cmd = exec.CommandContext(ctx, program, args...)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopTime
	logs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	serving := make(chan record, 1)
	go func() {
		last := readLogs(bufio.NewReader(logs), serving)
		err := s.cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", program, err, last)
		}
		s.exited <- err
	}()
	select {
	case at := <-serving:
		s.Address, s.Ops = at.Grpc, at.Ops
		return s, nil
	case err := <-s.exited:
		return nil, errors.Join(errors.New("the server did not start"), err)
	case <-time.After(startTime):
		return nil, errors.Join(fmt.Errorf("the server was not ready within %s", startTime),
			s.cmd.Process.Kill())
	}
}

// record is a line of the log.
type record struct{ Msg, Grpc, Ops string }

// readLogs sends the record that says where the server serves, and returns the last line.
func readLogs(logs *bufio.Reader, serving chan<- record) (last string) {
	for {
		// of any length: a line may hold the stack of a panic
		line, err := logs.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
		var r record
		if json.Unmarshal([]byte(line), &r) == nil && r.Msg == "serving" {
			serving <- r
		}
		if err != nil {
			return last
		}
	}
}

// PID returns the id of the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Signal sends a signal to the process.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Settle waits until the server is nearly idle: its work on events that it has acknowledged would
// slow the next measurement down.
func (s *Server) Settle(ctx context.Context) { loadtest.Settle(ctx, s.PID()) }

// Close drains the server and waits until it has ended; another exit code than 0 is an error.
func (s *Server) Close() error {
	if err := s.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-s.exited:
		return err
	case <-time.After(stopTime):
		return errors.Join(fmt.Errorf("the server did not stop within %s", stopTime),
			s.cmd.Process.Kill())
	}
}
