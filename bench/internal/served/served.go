// Package served runs gsimc serve as a process of its own, as its users do.
package served

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/loadtest"
)

// Server is a running gsimc serve.
type Server struct {
	Address string // of gRPC

	cmd    *exec.Cmd
	exited chan error // how it ended
}

// How long the server may take to serve and to drain.
const (
	startTime = 60 * time.Second
	stopTime  = 60 * time.Second
)

// Start serves a model on free loopback ports with a store in dir and these flags, and waits until
// it does. The server ends by Close or with ctx.
func Start(ctx context.Context, gsimc, model, dir string, flags ...string) (*Server, error) {
	s := &Server{exited: make(chan error, 1)}
	args := []string{"serve", "--model", model, "--data-dir", dir, "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--drain-delay", "0s",
		"--log-format", "json"}
	s.cmd = exec.CommandContext(ctx, gsimc, append(args, flags...)...)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopTime
	logs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("gsimc serve: %w: make build makes the program", err)
	}
	serving := make(chan string, 1)
	go func() {
		last := ""
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			var record struct{ Msg, Grpc string }
			if json.Unmarshal(lines.Bytes(), &record) == nil && record.Msg == "serving" {
				serving <- record.Grpc
			}
			last = lines.Text()
		}
		if err := s.cmd.Wait(); err != nil {
			s.exited <- fmt.Errorf("gsimc serve: %w: %s", err, strings.TrimSpace(last))
			return
		}
		s.exited <- nil
	}()
	select {
	case s.Address = <-serving:
		return s, nil
	case err := <-s.exited:
		return nil, errors.Join(errors.New("the server did not start"), err)
	case <-time.After(startTime):
		return nil, errors.Join(fmt.Errorf("the server was not ready within %s", startTime),
			s.cmd.Process.Kill())
	}
}

// Settle waits until the server is nearly idle: its work on events that it has acknowledged would
// slow the next measurement down.
func (s *Server) Settle(ctx context.Context) { loadtest.Settle(ctx, s.cmd.Process.Pid) }

// Close drains the server and waits until it has ended; another exit code than 0 is an error.
func (s *Server) Close() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
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
