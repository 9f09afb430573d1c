// Package redis runs a redis server of its own on a loopback port and appends to lists in it. It
// knows just enough of the protocol for that:
// https://redis.io/docs/latest/develop/reference/protocol-spec/
package redis

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Server is a running redis-server.
type Server struct {
	Address string
	Version string

	cmd *exec.Cmd
}

// How long the server may take to listen and to stop.
const (
	startTime = 10 * time.Second
	stopTime  = 10 * time.Second
)

// ErrNotInstalled is returned by Start where there is no redis-server.
var ErrNotInstalled = errors.New("redis-server is not installed")

// Start runs a server that keeps its append-only file in dir and answers a write when the file is
// synchronised.
func Start(ctx context.Context, dir string) (*Server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, ErrNotInstalled
	}
	version, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{Address: net.JoinHostPort("127.0.0.1", port), Version: versionOf(string(version))}
	s.cmd = exec.CommandContext(ctx, program, "--port", port, "--bind", "127.0.0.1", "--dir", dir,
		"--daemonize", "no", "--save", "", "--appendonly", "yes", "--appendfsync", "always",
		"--loglevel", "warning")
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopTime
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := Dial(s.Address)
		if err == nil {
			return s, c.Close()
		}
		if time.Since(begin) > startTime || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("redis-server does not answer: %w", err), s.Close())
		}
	}
}

// freePort asks the system for a port that nobody listens on at the moment.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port, l.Close()
}

// versionOf finds "v=7.0.15" in what redis-server --version prints.
func versionOf(text string) string {
	for _, word := range strings.Fields(text) {
		if v, ok := strings.CutPrefix(word, "v="); ok {
			return v
		}
	}
	return "unknown"
}

// Close stops the server and waits for it.
func (s *Server) Close() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := s.cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return nil // redis ends by the signal that it was sent
	}
	return err
}

// Conn is a connection. Its methods must not be called at the same time.
type Conn struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

// Dial connects to a server.
func Dial(address string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return nil, err
	}
	return &Conn{conn: c, in: bufio.NewReader(c)}, nil
}

// Append appends every value to the list of its key, in one write to the socket, and waits for all
// answers.
func (c *Conn) Append(keys []string, values [][]byte) error {
	c.out = c.out[:0]
	for i, key := range keys {
		c.out = appendCommand(c.out, []byte("RPUSH"), []byte(key), values[i])
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return err
	}
	for range keys {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line[0] != ':' { // the new length of the list; else an error
			return fmt.Errorf("redis: %s", bytes.TrimSpace(line[1:]))
		}
	}
	return nil
}

// appendCommand appends a command in the form of the protocol: *count, then $length and bytes of
// each word.
func appendCommand(dst []byte, words ...[]byte) []byte {
	dst = append(dst, '*')
	dst = append(strconv.AppendInt(dst, int64(len(words)), 10), "\r\n"...)
	for _, w := range words {
		dst = append(dst, '$')
		dst = append(strconv.AppendInt(dst, int64(len(w)), 10), "\r\n"...)
		dst = append(append(dst, w...), "\r\n"...)
	}
	return dst
}

// Close ends the connection.
func (c *Conn) Close() error { return c.conn.Close() }
