package users

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

const (
	// ListPart is the number of users in a message of a list.
	ListPart = 1000
	// ChangedEvents is the number of events in the answer to a BatchGetChanges.
	ChangedEvents = 3000

	// listStall is what a client may take for a message of a list. While the list lasts, the store
	// keeps the files that it had at the beginning, with the bytes of users who are erased
	// meanwhile.
	listStall = 5 * time.Second
)

// ListUsers implements UserService.
func (s *service) ListUsers(_ *pb.ListUsersRequest, stream pb.UserService_ListUsersServer) error {
	return s.exporting(stream.Context(), func(ctx context.Context, place *export) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		parts, end := make(chan []*pb.UserHistory), make(chan error, 1)
		go func() {
			defer close(parts)
			end <- s.listInto(ctx, parts)
		}()
		send := sending(ctx, place, stream.Send)
		for part := range parts {
			if err := send(&pb.ListUsersResponse{Users: part}); err != nil {
				return err
			}
		}
		return <-end
	})
}

// listInto sends all users in parts. It does not wait for a receiver for longer than listStall.
func (s *service) listInto(ctx context.Context, parts chan<- []*pb.UserHistory) error {
	var part []*pb.UserHistory
	flush := func() error {
		select {
		case parts <- part:
			part = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(listStall):
			return outcome.ErrExports
		}
	}
	err := s.Store.Each(ctx, 0, 1, func(user string, head store.Version) error {
		part = append(part, &pb.UserHistory{UserId: user, SessionToken: s.sessionToken(user, head)})
		if len(part) < ListPart {
			return nil
		}
		return flush()
	})
	skipped, ok := errors.AsType[*store.SkippedError](err)
	if err != nil && !ok {
		return err
	}
	if len(part) > 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	if ok {
		return fmt.Errorf("%w: %w", outcome.ErrUsersSkipped, skipped)
	}
	return nil
}

// BatchGetChanges implements UserService.
func (s *service) BatchGetChanges(
	ctx context.Context, req *pb.BatchGetChangesRequest,
) (*pb.BatchGetChangesResponse, error) {
	if err := valid.BatchGetChanges(req); err != nil {
		return nil, err
	}
	known := make([]store.Version, len(req.GetUsers()))
	for i, u := range req.GetUsers() {
		var err error
		if known[i], err = s.knownVersion(i, u); err != nil {
			return nil, err
		}
	}
	resp, room := &pb.BatchGetChangesResponse{}, ChangedEvents
	for i, u := range req.GetUsers() {
		if room == 0 { // a store may read many events to give none
			resp.Results = append(resp.Results, &pb.UserChanges{UserId: u.GetUserId(),
				SessionToken: u.GetSessionToken(), More: true})
			continue
		}
		c, err := s.changes(ctx, u.GetUserId(), known[i], room)
		if errors.Is(err, store.ErrCorrupt) {
			c = &pb.UserChanges{UserId: u.GetUserId(), Error: outcome.Status(err).Proto()}
		} else if err != nil {
			return nil, err
		}
		room -= len(c.GetEvents())
		resp.Results = append(resp.Results, c)
	}
	return resp, nil
}

// knownVersion is the version that the i-th user of a request is known by.
func (s *service) knownVersion(i int, u *pb.UserHistory) (store.Version, error) {
	if len(u.GetSessionToken()) == 0 {
		return store.Version{}, nil
	}
	v, err := session.Read(s.Store.Identity(), u.GetUserId(), u.GetSessionToken())
	if errors.Is(err, session.ErrMalformed) {
		err = valid.Bad(fmt.Sprintf("users[%d].session_token", i), "is damaged, or of another user")
	}
	return v, err
}

// changes returns up to room events that a known history lacks, at least one if there is one.
func (s *service) changes(
	ctx context.Context, user string, known store.Version, room int,
) (*pb.UserChanges, error) {
	c, reached := &pb.UserChanges{UserId: user}, known
	head, same, err := s.Store.Since(ctx, user, known, func(v store.Version, e store.Event) error {
		if v.Revision == 1 { // also while Since goes over a history that is replaced
			c.Replaced, c.Events = known.Revision > 0, nil
		}
		if len(c.GetEvents()) == room {
			c.More = true
			return errEnough
		}
		c.Events, reached = append(c.Events, newUserEvent(user, v, e)), v
		return nil
	})
	switch {
	case err == nil:
		if c.Replaced, reached = !same, head; head.Revision == 0 {
			c.Events = nil // they were of a history that was erased meanwhile
		}
	case !errors.Is(err, errEnough):
		return nil, err
	}
	c.SessionToken = s.sessionToken(user, reached)
	return c, nil
}
