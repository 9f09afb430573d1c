package server

import (
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
func (s users) ListUserEvents(
	ctx context.Context, req *pb.ListUserEventsRequest,
) (*pb.ListUserEventsResponse, error) {
	if err := valid.ListUserEvents(req); err != nil {
		return nil, err
	}
	if req.GetPageToken() != "" {
		p, err := readPage(s.store.Identity(), req.GetUserId(), req.GetPageToken())
		if err != nil {
			return nil, err
		}
		return s.list(ctx, req, p)
	}
	const attempts = 3 // the history may be erased between its head and its events
	for attempt := 1; ; attempt++ {
		head, _, err := s.store.Since(ctx, req.GetUserId(), store.Version{}, nil)
		if err != nil {
			return nil, err
		}
		if head.Revision == 0 {
			return nil, outcome.ErrUserNotFound
		}
		r, err := s.list(ctx, req, eventPage{head, head.Revision})
		if attempt == attempts || !errors.Is(err, outcome.ErrHistoryChanged) {
			return r, err
		}
	}
}

// list returns a page of a listing.
func (s users) list(
	ctx context.Context, req *pb.ListUserEventsRequest, p eventPage,
) (*pb.ListUserEventsResponse, error) {
	size := uint64(min(req.GetPageSize(), maxEventPage))
	if size == 0 {
		size = defaultEventPage
	}
	after := p.last - min(size, p.last)
	events, err := s.eventsOf(ctx, req.GetUserId(), p, after)
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	r := &pb.ListUserEventsResponse{Events: events, TotalSize: int64(p.head.Revision)}
	if after > 0 {
		r.NextPageToken = eventPage{p.head, after}.token(s.store.Identity(), req.GetUserId())
	}
	return r, nil
}

// eventsOf returns the events of a listing above a revision, up to its last one.
func (s users) eventsOf(
	ctx context.Context, user string, p eventPage, after uint64,
) ([]*pb.UserEvent, error) {
	events := make([]*pb.UserEvent, 0, p.last-after)
	// A store that draws marks more often does not know this version and begins at the beginning.
	known := store.Version{Revision: after, Mark: p.head.Mark}
	_, _, err := s.store.Since(ctx, user, known, func(v store.Version, e store.Event) error {
		if v.Revision > after && v.Revision <= p.last {
			events = append(events, newUserEvent(user, v, e))
		}
		if v.Revision >= p.last {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	// No version comes back: what has it now had it when the events were read.
	_, same, err := s.store.Since(ctx, user, p.head, nil)
	switch {
	case err != nil:
		return nil, err
	case !same || uint64(len(events)) != p.last-after:
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

// eventPage is a place in a listing of a history, the newest event first.
type eventPage struct {
	head store.Version // of the history that is listed
	last uint64        // revision of the first event of the page
}

// token returns the page as text: a session token of the history, and the revision.
func (p eventPage) token(id store.Identity, user string) string {
	t := session.Make(id, user, p.head)
	return base64.RawURLEncoding.EncodeToString(binary.LittleEndian.AppendUint64(t[:], p.last))
}

// readPage reads what token has returned.
func readPage(id store.Identity, user, token string) (eventPage, error) {
	bad := valid.Bad("page_token", "is damaged, or of another user")
	const bytes = session.TokenBytes + 8
	if len(token) != base64.RawURLEncoding.EncodedLen(bytes) {
		return eventPage{}, bad
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return eventPage{}, bad
	}
	p := eventPage{last: binary.LittleEndian.Uint64(b[session.TokenBytes:])}
	p.head, err = session.Read(id, user, b[:session.TokenBytes])
	switch {
	case errors.Is(err, session.ErrMalformed):
		return eventPage{}, bad
	case err != nil:
		return eventPage{}, err
	case p.last == 0 || p.last > p.head.Revision:
		return eventPage{}, bad
	}
	return p, nil
}
