package client

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// A Session is one user's events and lists, whichever server answers: each list reflects the event
// that was acknowledged last, or there is an error (see RecommendRequest.session_token). It keeps
// the token of that event. Send the events of a user one after the other: of two at a time either
// may be the last. A Session may be used by several goroutines.
type Session struct {
	user      string
	events    pb.EventServiceClient
	recommend pb.RecommenderServiceClient

	mu       sync.Mutex
	token    []byte
	revision uint64 // of the token; 0: unknown
}

// NewSession returns a session of a user over a connection, with the token of an earlier session,
// or nil. A session that begins with a token keeps it until an event is new to the server: the
// answer to a repeat may name an earlier history than the token, and the client cannot tell.
func NewSession(conn grpc.ClientConnInterface, user string, token []byte) *Session {
	return &Session{user: user, token: token, events: pb.NewEventServiceClient(conn),
		recommend: pb.NewRecommenderServiceClient(conn)}
}

// Observe sends an event of the user, which it enters as the user of the event.
func (s *Session) Observe(
	ctx context.Context, e *pb.Event, opts ...grpc.CallOption,
) (*pb.ObserveResponse, error) {
	e.UserId = s.user
	resp, err := s.events.Observe(ctx, &pb.ObserveRequest{Event: e}, opts...)
	if err == nil {
		s.note(resp)
	}
	return resp, err
}

// note keeps the token of an answer. A duplicate may be the last event, sent again because its
// answer was lost, or an earlier one.
func (s *Session) note(resp *pb.ObserveResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := resp.GetDisposition() == pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE
	unknown := len(s.token) > 0 && s.revision == 0
	if again && (unknown || resp.GetUserRevision() <= s.revision) {
		return
	}
	s.token, s.revision = resp.GetSessionToken(), resp.GetUserRevision()
}

// Recommend asks for a list of the user, whom it enters into the request, with the token.
func (s *Session) Recommend(
	ctx context.Context, req *pb.RecommendRequest, opts ...grpc.CallOption,
) (*pb.RecommendResponse, error) {
	req.Subject = &pb.RecommendRequest_UserId{UserId: s.user}
	req.SessionToken = s.Token()
	return s.recommend.Recommend(ctx, req, opts...)
}

// Token returns the token of the last event, to go on with in another process; nil: there was none.
func (s *Session) Token() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// Forget lets the session begin anew, as after DATA_LOSS or FAILED_PRECONDITION, which say that the
// events before are gone.
func (s *Session) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.revision = nil, 0
}
