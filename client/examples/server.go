package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const gsimc = "bin/gsimc"

// server is a running gsimc serve with a model of a synthetic catalogue.
type server struct {
	grpc, json string // addresses
	cmd        *exec.Cmd
}

// startServer makes a catalogue and a model in dir and starts a server on free ports of the
// loopback interface. The model is the same each time, and so are the lists.
func startServer(ctx context.Context, dir string) (*server, error) {
	events, model := filepath.Join(dir, "events.csv"), filepath.Join(dir, "model.gsimc")
	for _, args := range [][]string{
		{"generate", "--users", "300", "--items", "120", "--events", "6000", "--out", events},
		{"train", "--data", events, "--rank", "16", "--out", model},
	} {
		if out, err := exec.CommandContext(ctx, gsimc, args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("gsimc %s: %w\n%s", args[0], err, out)
		}
	}
	const free = "127.0.0.1:0"
	cmd := exec.CommandContext(ctx, gsimc, "serve", "--model", model,
		"--data-dir", filepath.Join(dir, "state"), "--listen", free, "--json-listen", free,
		"--admin-listen", free, "--ops-listen", free, "--drain-delay", "0s",
		"--log-format", "json")
	logs, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	said := &strings.Builder{}
	for lines := bufio.NewScanner(io.TeeReader(logs, said)); lines.Scan(); {
		var line struct{ Msg, GRPC, JSON string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			go func() { _, _ = io.Copy(io.Discard, logs) }()
			return &server{grpc: line.GRPC, json: line.JSON, cmd: cmd}, nil
		}
	}
	return nil, errors.Join(errors.New("the server did not start"), cmd.Wait(),
		errors.New(said.String()))
}

// stop drains the server and waits for its end.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}
