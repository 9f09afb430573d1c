package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// clientFlags say which server to talk to.
type clientFlags struct {
	Server  string        `group:"Server:" default:"127.0.0.1:50051" placeholder:"HOST:PORT" help:"gRPC address of the server. Default: 127.0.0.1:50051."`
	Timeout time.Duration `group:"Server:" default:"5s" help:"Time for one call, retries included."`
}

// retryPolicy repeats a call that found no server, within its deadline. Recommend changes nothing, and the events that
// Observe is called with here have an id or a time, so that one that was taken in already is recognised.
const retryPolicy = `{"methodConfig": [{"name": [{"service": "gsimc.v1.RecommenderService"}, {"service": "gsimc.v1.EventService", "method": "Observe"}],
  "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.05s", "maxBackoff": "0.5s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

func (f *clientFlags) check() error {
	if f.Timeout <= 0 {
		return cli.Flagf("--timeout", "%s, want more than 0s", f.Timeout)
	}
	return nil
}

// pings find out that the peer of a long call is gone without a word, a machine that lost its power say. A server
// of ours takes offence at pings less than 10 s apart.
var pings = keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}

// dial connects to a server. The connection is made by the first call; there is no transport security.
func dial(address string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(retryPolicy),
		grpc.WithKeepaliveParams(pings))
	if err != nil {
		return nil, cli.Flag("--server", err)
	}
	return conn, nil
}

// call runs fn with a connection and the deadline of --timeout.
func (f *clientFlags) call(fn func(context.Context, grpc.ClientConnInterface) error) (err error) {
	conn, err := dial(f.Server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), f.Timeout)
	defer cancel()
	return f.explain(fn(ctx, conn))
}

// connectionError finds the reason in what gRPC says when there is no connection, the last words of a nested text:
// connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused".
var connectionError = regexp.MustCompile(`(?s)connection error: desc = ".*: ([^:"]+)"|name resolver error: ()`)

// explain puts a status error, however gRPC wrapped it, into words: which server, which code, what it said, or what to do if
// there is no server.
func (f *clientFlags) explain(err error) error {
	var failed interface{ GRPCStatus() *status.Status }
	if err == nil || !errors.As(err, &failed) {
		return err
	}
	s := failed.GRPCStatus()
	if reason := connectionError.FindStringSubmatch(s.Message()); reason != nil {
		return fmt.Errorf("cannot connect to %s (%s): is the server running there? see --server", f.Server, cmp.Or(reason[1], "unknown host"))
	}
	if s.Code() == codes.DeadlineExceeded {
		return fmt.Errorf("no answer from %s within %s: is the server running there? see --server and --timeout", f.Server, f.Timeout)
	}
	return fmt.Errorf("server %s: %s: %s", f.Server, s.Code(), s.Message())
}

// parseTime reads a time of the command line: seconds since 1970 or RFC 3339.
func parseTime(flag, text string) (time.Time, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(seconds, 0), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, cli.Usagef("%s: %q is not a time: want seconds since 1970 or RFC 3339, such as 2026-01-31T12:00:00Z", flag, text)
	}
	return t, nil
}
