package client

import (
	"bytes"
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// sessionConn is a connection to a server that gives tokens and wants them back.
type sessionConn struct {
	grpc.ClientConnInterface
	token     []byte // of the next answer
	revision  uint64
	duplicate bool
	asked     *pb.RecommendRequest
}

func (c *sessionConn) Invoke(
	_ context.Context, _ string, args, reply any, _ ...grpc.CallOption,
) error {
	switch req := args.(type) {
	case *pb.ObserveRequest:
		if req.GetEvent().GetUserId() != "ann" {
			return status.Error(codes.InvalidArgument, "user")
		}
		resp := reply.(*pb.ObserveResponse)
		resp.SessionToken, resp.UserRevision = c.token, c.revision
		resp.Disposition = pb.EventDisposition_EVENT_DISPOSITION_APPLIED
		if c.duplicate {
			resp.Disposition = pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE
		}
	case *pb.RecommendRequest:
		c.asked = req
	}
	return nil
}

func TestSession(t *testing.T) {
	conn := &sessionConn{}
	s := NewSession(conn, "ann", []byte("earlier"))
	ask := func(want string) {
		t.Helper()
		check.Get(s.Recommend(t.Context(), &pb.RecommendRequest{PageSize: 7}))(t)
		if got := conn.asked; !bytes.Equal(got.GetSessionToken(), []byte(want)) ||
			got.GetUserId() != "ann" || got.GetPageSize() != 7 {
			t.Errorf("asked with %v, want the token %q", got, want)
		}
	}
	observe := func(token string, revision uint64, duplicate bool) {
		t.Helper()
		conn.token, conn.revision, conn.duplicate = []byte(token), revision, duplicate
		check.Get(s.Observe(t.Context(), &pb.Event{ItemId: "i"}))(t)
	}
	ask("earlier")
	observe("repeat", 5, true) // earlier may be of a later event
	ask("earlier")
	observe("one", 1, false)
	ask("one")
	observe("two", 2, false)
	observe("one", 1, true) // it is of an earlier event
	ask("two")
	observe("three", 3, true) // the answer to the first attempt was lost
	ask("three")
	observe("new", 1, false) // the user was erased
	ask("new")
	s.Forget()
	ask("")
	if s.Token() != nil {
		t.Error("a token is left")
	}
	observe("repeat", 5, true) // better than none
	ask("repeat")
}
