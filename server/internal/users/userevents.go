package users

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

const (
	defaultEventPage = 100
	maxEventPage     = 1000
)

var (
	errEnough = errors.New("server: no more events are wanted")
)

// ListUserEvents implements UserService.
func (s *service) ListUserEvents(
	ctx context.Context, req *pb.ListUserEventsRequest,
) (*pb.ListUserEventsResponse, error) {
	if err := valid.ListUserEvents(req); err != nil {
		return nil, err
	}
	if req.GetPageToken() != "" {
		p, err := readPage(s.Store.Identity(), req.GetUserId(), req.GetPageToken())
		if err != nil {
			return nil, err
		}
		return s.list(ctx, req, p)
	}
	const attempts = 3 // the history may be erased between its head and its events
	for attempt := 1; ; attempt++ {
		head, _, err := s.Store.Since(ctx, req.GetUserId(), store.Version{}, nil)
		if err != nil {
			return nil, err
		}
		if head.Revision == 0 {
			return nil, outcome.ErrUserNotFound
		}
		r, err := s.list(ctx, req, EventPage{head, head.Revision})
		if attempt == attempts || !errors.Is(err, outcome.ErrHistoryChanged) {
			return r, err
		}
	}
}

// list returns a page of a listing.
func (s *service) list(
	ctx context.Context, req *pb.ListUserEventsRequest, p EventPage,
) (*pb.ListUserEventsResponse, error) {
	size := cmp.Or(uint64(min(req.GetPageSize(), maxEventPage)), defaultEventPage)
	after := p.Last - min(size, p.Last)
	events, err := s.eventsOf(ctx, req.GetUserId(), p, after)
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	r := &pb.ListUserEventsResponse{Events: events, TotalSize: int64(p.Head.Revision)}
	if after > 0 {
		r.NextPageToken = EventPage{p.Head, after}.Token(s.Store.Identity(), req.GetUserId())
	}
	return r, nil
}

// eventsOf returns the events of a listing above a revision, up to its last one.
func (s *service) eventsOf(
	ctx context.Context, user string, p EventPage, after uint64,
) ([]*pb.UserEvent, error) {
	events := make([]*pb.UserEvent, 0, p.Last-after)
	// A store that draws marks more often does not know this version and begins at the beginning.
	known := store.Version{Revision: after, Mark: p.Head.Mark}
	_, _, err := s.Store.Since(ctx, user, known, func(v store.Version, e store.Event) error {
		if v.Revision > after && v.Revision <= p.Last {
			events = append(events, newUserEvent(user, v, e))
		}
		if v.Revision >= p.Last {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	// No version comes back: what has it now had it when the events were read.
	_, same, err := s.Store.Since(ctx, user, p.Head, nil)
	switch {
	case err != nil:
		return nil, err
	case !same || uint64(len(events)) != p.Last-after:
		return nil, outcome.ErrHistoryChanged
	}
	return events, nil
}

func newUserEvent(user string, v store.Version, e store.Event) *pb.UserEvent {
	value := e.Value
	return &pb.UserEvent{Revision: v.Revision, Event: &pb.Event{
		EventId: e.ID, UserId: user, ItemId: e.Item, EventType: e.Type,
		EventTime: timestamppb.New(e.Time), Value: &value,
	}}
}

// EventPage is a place in a listing of a history, the newest event first.
type EventPage struct {
	Head store.Version // of the history that is listed
	Last uint64        // revision of the first event of the page
}

// Token returns the page as text: a session token of the history, and the revision.
func (p EventPage) Token(id store.Identity, user string) string {
	t := session.Make(id, user, p.Head)
	return base64.RawURLEncoding.EncodeToString(binary.LittleEndian.AppendUint64(t[:], p.Last))
}

// readPage reads what Token has returned.
func readPage(id store.Identity, user, token string) (EventPage, error) {
	bad := valid.Bad("page_token", "is damaged, or of another user")
	const bytes = session.TokenBytes + 8
	if len(token) != base64.RawURLEncoding.EncodedLen(bytes) {
		return EventPage{}, bad
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return EventPage{}, bad
	}
	p := EventPage{Last: binary.LittleEndian.Uint64(b[session.TokenBytes:])}
	p.Head, err = session.Read(id, user, b[:session.TokenBytes])
	switch {
	case errors.Is(err, session.ErrMalformed):
		return EventPage{}, bad
	case err != nil:
		return EventPage{}, err
	case p.Last == 0 || p.Last > p.Head.Revision:
		return EventPage{}, bad
	}
	return p, nil
}
