package call

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/nettest"
)

// slowToForget erases at once, and has the bytes in its files for some calls that wait.
type slowToForget struct {
	pb.UnimplementedUserServiceServer
	pending int
	code    codes.Code
	reason  string
	calls   int
	left    time.Duration // of the last call
}

func (s *slowToForget) DeleteUser(
	ctx context.Context, r *pb.DeleteUserRequest,
) (*pb.DeleteUserResponse, error) {
	s.calls++
	ends, _ := ctx.Deadline()
	s.left = time.Until(ends)
	at := timestamppb.New(time.Unix(1_700_000_000, 0))
	answer := &pb.DeleteUserResponse{ErasureId: "first", DeletedEventCount: 3, DeleteTime: at}
	if s.calls > 1 {
		answer = &pb.DeleteUserResponse{ErasureId: "later", EraseTime: at}
	}
	if s.pending--; !r.GetWaitForErasure() || s.pending < 0 {
		return answer, nil
	}
	st, err := status.New(s.code, "words").WithDetails(&errdetails.ErrorInfo{Reason: s.reason})
	if err != nil {
		return nil, err
	}
	return nil, st.Err()
}

// forget runs the command against the server and returns what it printed.
func (s *slowToForget) forget(t *testing.T, wait time.Duration) (printed string, err error) {
	t.Helper()
	address, stop := nettest.Serve(t, func(g *grpc.Server) { pb.RegisterUserServiceServer(g, s) })
	defer stop()
	out := &strings.Builder{}
	c := &UserForget{Wait: true}
	c.User, c.Server, c.Timeout = "ann", address, 10*time.Second
	err = c.run(&cli.App{Stdout: out}, wait)
	return out.String(), err
}

// The command waits on when the server says that bytes are still in files, until its own time is
// over, which is not that of one call, and prints the record of the deletion in any case.
func TestForgetWaitsOn(t *testing.T) {
	const deleted = "3 events erased\ndeleted 2023-11-14T22:13:20Z, erasure first\n"
	pending := &slowToForget{pending: 4, code: codes.DeadlineExceeded, reason: reasonPending}
	got, err := pending.forget(t, time.Minute)
	want := deleted + "gone from all files 2023-11-14T22:13:20Z, in the log as erasure later\n"
	if err != nil || got != want || pending.left < 30*time.Second {
		t.Errorf("printed %q, %v, want %q; %v were left to wait", got, err, want, pending.left)
	}
	for want, s := range map[string]*slowToForget{
		"^the user is erased; bytes are still in files of the store, .* waits on$": {
			pending: 1e9, code: codes.DeadlineExceeded, reason: reasonPending},
		"^the user is erased; the time ended before the server said .* waits on$": {
			pending: 1e9, code: codes.DeadlineExceeded},
		"^the user is erased; the store of this server does not know what is in its files$": {
			pending: 1e9, code: codes.FailedPrecondition, reason: reasonCannotTell},
		"^the user is erased; whether bytes .* is unknown: Unavailable: words$": {
			pending: 1e9, code: codes.Unavailable, reason: "DRAINING"},
	} {
		got, err := s.forget(t, 2*time.Second)
		if got != deleted || err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("printed %q, %v, want %q and %s", got, err, deleted, want)
		}
	}
}
