package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// UserForget is `gsimc user forget`.
type UserForget struct {
	whose

	Wait bool `help:"Wait until nothing is left of the user in the server's files: some ten seconds, in a large store more, and at most two minutes or a longer --timeout. What the user does meanwhile is erased too."`
}

// waitTime is how long the command waits for the files, unless --timeout is longer. That of one
// call is too short for it.
const waitTime = 2 * time.Minute

// Run erases a user. A user without history is no error, so that the command may be repeated. The
// record of the deletion is printed before the wait for the files, which may end early.
func (c *UserForget) Run(a *cli.App) error { return c.run(a, max(c.Timeout, waitTime)) }

func (c *UserForget) run(a *cli.App, wait time.Duration) error {
	err := call(&c.ServerFlags, func(ctx context.Context, users pb.UserServiceClient) error {
		r, err := users.DeleteUser(ctx, &pb.DeleteUserRequest{UserId: c.User, AllowMissing: true})
		if err == nil {
			a.Printf("%s erased\n", cli.Counted(r.GetDeletedEventCount(), "event"))
			printRecord(a, "deleted", r.GetDeleteTime(), "erasure "+r.GetErasureId())
		}
		return err
	})
	if err != nil || !c.Wait {
		return err
	}
	waiting := c.ServerFlags
	waiting.Timeout = wait
	return call(&waiting, func(ctx context.Context, users pb.UserServiceClient) error {
		r, err := c.waitOn(ctx, users)
		if err == nil {
			printRecord(a, "gone from all files", r.GetEraseTime(),
				"in the log as erasure "+r.GetErasureId())
		}
		return err
	})
}

// printRecord prints a line of a record of deletion, if there is something to say.
func printRecord(a *cli.App, what string, at *timestamppb.Timestamp, id string) {
	if at != nil {
		a.Printf("%s %s, %s\n", what, at.AsTime().Format(time.RFC3339), id)
	}
}

// Reasons of the errors of a call that waits.
const (
	reasonPending    = "ERASURE_PENDING"   // the bytes are still there
	reasonCannotTell = "STORE_CANNOT_TELL" // of a store that does not know
)

// pendingPause is the time between two calls that wait. A call takes as long as the server lets it.
const pendingPause = 100 * time.Millisecond

// waitOn waits until nothing of the erased user is in the files of the store. The server ends calls
// that take long, which are repeated. Its clock may see the end of the command's own time first.
func (c *UserForget) waitOn(
	ctx context.Context, users pb.UserServiceClient,
) (*pb.DeleteUserResponse, error) {
	for pending := false; ; {
		r, err := users.DeleteUser(ctx, &pb.DeleteUserRequest{UserId: c.User, AllowMissing: true,
			WaitForErasure: true})
		if err == nil {
			return r, nil
		}
		reason := reasonOf(err)
		pending = pending || reason == reasonPending
		switch {
		case pending && ctx.Err() != nil:
			return nil, errors.New("the user is erased; bytes are still in files of the store, " +
				"and leave them by themselves: the same command waits on")
		case ctx.Err() != nil:
			return nil, errors.New("the user is erased; the time ended before the server said " +
				"whether bytes are still in files of the store: the same command waits on")
		case reason == reasonCannotTell:
			return nil, errors.New("the user is erased; the store of this server does not know " +
				"what is in its files")
		case reason != reasonPending && status.Code(err) != codes.DeadlineExceeded:
			s := status.Convert(err)
			return nil, fmt.Errorf("the user is erased; whether bytes are still in files of the "+
				"store is unknown: %s: %s", s.Code(), s.Message())
		}
		select {
		case <-time.After(pendingPause):
		case <-ctx.Done():
		}
	}
}

// reasonOf returns the reason that a server gives for an error, empty if it gives none.
func reasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
