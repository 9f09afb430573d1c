package users

import (
	"context"
	"errors"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// Exports last as long as their clients read, so they have a bound of their own.
const (
	maxExports  = 16
	exportStall = time.Second // that a client may take for a message while others want its place
	exportTime  = 10 * time.Minute
	ExportChunk = 500 // events of a message
)

// ExportUser implements UserService. Between two messages nothing of the store is held: a slow
// client keeps no erased bytes.
func (s *service) ExportUser(
	req *pb.ExportUserRequest, stream pb.UserService_ExportUserServer,
) error {
	if err := valid.UserID(req.GetUserId()); err != nil {
		return err
	}
	return s.exporting(stream.Context(), func(ctx context.Context, place *export) error {
		return s.export(ctx, req.GetUserId(), sending(ctx, place, stream.Send))
	})
}

// exporting runs a call that lasts as long as its client reads, in a place of its own.
func (s *service) exporting(
	call context.Context, run func(context.Context, *export) error,
) error {
	ctx, cancel := context.WithTimeout(call, exportTime)
	defer cancel()
	place := s.Exports.begin(s.Caller(ctx), cancel)
	if place == nil {
		return outcome.ErrExports
	}
	defer place.end()
	admission.Of(call).Leave()
	err := run(ctx, place)
	switch {
	case err != nil && s.Draining.Err() != nil:
		return outcome.ErrDraining
	case err != nil && place.ended():
		return outcome.ErrExports
	}
	return err
}

// export sends the summary of a user and then the events.
func (s *service) export(
	ctx context.Context, user string, send func(*pb.ExportUserResponse) error,
) error {
	summary, head, err := s.summary(ctx, user)
	if err != nil {
		return err
	}
	if err := send(&pb.ExportUserResponse{User: summary}); err != nil {
		return err
	}
	for known := (store.Version{}); known != head; {
		var events []*pb.UserEvent
		if events, known, err = s.chunk(ctx, user, known, head); err != nil {
			return err
		}
		if err := send(&pb.ExportUserResponse{Events: events}); err != nil {
			return err
		}
	}
	return nil
}

// chunk returns the next events after a version of a history, up to its head, and the version with
// them. It is an error if the history does not come to the head.
func (s *service) chunk(
	ctx context.Context, user string, known, head store.Version,
) (events []*pb.UserEvent, reached store.Version, err error) {
	reached = known
	_, _, err = s.Store.Since(ctx, user, known, func(v store.Version, e store.Event) error {
		if v.Revision != reached.Revision+1 { // it began anew
			return outcome.ErrHistoryChanged
		}
		events, reached = append(events, newUserEvent(user, v, e)), v
		if len(events) == ExportChunk || v.Revision == head.Revision {
			return errEnough
		}
		return nil
	})
	switch {
	case err == nil, reached.Revision == head.Revision && reached != head:
		return nil, reached, outcome.ErrHistoryChanged
	case !errors.Is(err, errEnough):
		return nil, reached, err
	}
	return events, reached, nil
}
