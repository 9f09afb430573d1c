package main

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Errors of a call are one sentence in the words of a user. The long texts are those that gRPC gives.
func TestExplain(t *testing.T) {
	const refused = `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`
	client := clientFlags{Server: "host:1", Timeout: 300 * time.Millisecond}
	for _, c := range []struct {
		err  error
		want string
	}{
		{io.ErrUnexpectedEOF, "unexpected EOF"},
		{status.Error(codes.Unavailable, refused), "cannot connect to host:1 (connection refused): is the server running there? see --server"},
		{
			fmt.Errorf("max retries exhausted: failed after 4 attempts: %w", status.Error(codes.Unavailable, refused)),
			"cannot connect to host:1 (connection refused): is the server running there? see --server",
		},
		{
			status.Error(codes.DeadlineExceeded, "received context error while waiting for new LB policy update: context deadline exceeded; latest balancer error: "+refused),
			"cannot connect to host:1 (connection refused): is the server running there? see --server",
		},
		{
			status.Error(codes.Unavailable, `name resolver error: produced zero addresses`),
			"cannot connect to host:1 (unknown host): is the server running there? see --server",
		},
		{status.Error(codes.DeadlineExceeded, "context deadline exceeded"), "no answer from host:1 within 300ms: is the server running there? see --server and --timeout"},
		{status.Error(codes.InvalidArgument, "user_id is required"), "server host:1: InvalidArgument: user_id is required"},
	} {
		if got := client.explain(c.err); got.Error() != c.want {
			t.Errorf("%v\nis explained as %v\nwant            %s", c.err, got, c.want)
		}
	}
	if err := client.explain(nil); err != nil {
		t.Errorf("no error is explained as %v", err)
	}
	once := client.explain(status.Error(codes.Unavailable, refused))
	if twice := client.explain(once); !errors.Is(twice, once) {
		t.Errorf("explained twice: %v, want %v", twice, once)
	}
}
