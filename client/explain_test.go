package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
)

// Errors of calls, as gRPC makes them, are one sentence that says why.
func TestExplainCalls(t *testing.T) {
	free := nettest.Free(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	check.Must(t, err)
	defer silent.Close()
	for _, c := range []struct {
		name, address string
		reason        Reason
		want          string
	}{
		{"refused", free, Unreachable, "cannot connect to " + free + " (connection refused)"},
		{"no such host", "no-such-host.invalid:1", Unreachable,
			"cannot connect to no-such-host.invalid:1 (unknown host)"},
		{"silence", silent.Addr().String(), NoAnswer,
			"no answer from " + silent.Addr().String() + " within 500ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := Dial(Options{Address: c.address, Timeout: 500 * time.Millisecond})
			check.Must(t, err)
			defer client.Close()
			_, err = pb.NewAdminServiceClient(client.Conn()).GetStatus(context.Background(),
				&pb.GetStatusRequest{})
			err = client.Explain(err)
			if e := new(Error); !errors.As(err, &e) || e.Reason != c.reason ||
				err.Error() != c.want {
				t.Errorf("error %q, want %q", err, c.want)
			}
		})
	}
}

// unavailable answers Observe with an error as often as it is told, and then not at all.
type unavailable struct {
	pb.UnimplementedEventServiceServer
	answers atomic.Int32
}

func (s *unavailable) Observe(
	ctx context.Context, _ *pb.ObserveRequest,
) (*pb.ObserveResponse, error) {
	if s.answers.Add(-1) < 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, status.Error(codes.Unavailable, "the store cannot be reached")
}

// A call that ended at its deadline tells what the server answered to its earlier attempts.
func TestExplainRepeated(t *testing.T) {
	for answers, want := range map[int32]string{
		3: "within 2s server ADDR answered 3 times: Unavailable: the store cannot be reached",
		1: "within 2s server ADDR answered once: Unavailable: the store cannot be reached",
		0: "no answer from ADDR within 2s",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := &unavailable{}
			s.answers.Store(answers)
			address, _ := nettest.Serve(t, func(g *grpc.Server) {
				pb.RegisterEventServiceServer(g, s)
			})
			client, err := Dial(Options{Address: address, Timeout: 2 * time.Second})
			check.Must(t, err)
			defer client.Close()
			_, err = pb.NewEventServiceClient(client.Conn()).Observe(t.Context(),
				&pb.ObserveRequest{})
			want := strings.ReplaceAll(want, "ADDR", client.Address())
			if got := client.Explain(err); got.Error() != want || !errors.Is(got, err) ||
				status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("%v is explained as %v, want %s", err, got, want)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	client := check.Get(Dial(Options{Address: "host:1"}))(t)
	defer client.Close()
	pending, err := status.New(codes.DeadlineExceeded, "the bytes are in files").WithDetails(
		&errdetails.ErrorInfo{Reason: "ERASURE_PENDING"})
	check.Must(t, err)
	for _, c := range []struct {
		err  error
		want string
	}{
		{pending.Err(), "server host:1: DeadlineExceeded: the bytes are in files"},
		{io.ErrUnexpectedEOF, "unexpected EOF"},
		{status.Error(codes.InvalidArgument, "user_id is required"),
			"server host:1: InvalidArgument: user_id is required"},
		{
			fmt.Errorf("max retries exhausted: %w", status.Error(codes.Unavailable, "draining")),
			"server host:1: Unavailable: draining",
		},
		{status.Error(codes.DeadlineExceeded, "context deadline exceeded"),
			"no answer from host:1 in time"},
	} {
		got := client.Explain(c.err)
		if got.Error() != c.want {
			t.Errorf("%v\nis explained as %v\nwant            %s", c.err, got, c.want)
		}
		if !errors.Is(got, c.err) {
			t.Errorf("%v is lost in %v", c.err, got)
		}
		if twice := client.Explain(got); twice != got { //nolint:errorlint // the same value
			t.Errorf("explained twice: %v, want %v", twice, got)
		}
	}
	check.Pass(t, client.Explain(nil), "no error, explained")
}

// The policy is one that gRPC takes: Dial would fail.
func TestRetry(t *testing.T) {
	for _, r := range []Retry{{}, {Attempts: 1},
		{Attempts: 5, First: time.Millisecond, Last: time.Second}} {
		client, err := Dial(Options{Address: "host:1", Retry: r})
		if err != nil {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Waits that gRPC does not take are faults of their fields, not of the address.
func TestRetryRefused(t *testing.T) {
	_, err := Dial(Options{Address: "host:1", Retry: Retry{Attempts: 3}})
	if got, want := fault.Fields(err), []string{"First", "Last"}; !slices.Equal(got, want) {
		t.Errorf("faults of the fields %v (%v), want %v", got, err, want)
	}
}
