package recommend

import (
	"context"
	"errors"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// How a call waits for a history that another server, or another copy of the store, has written.
const (
	firstWait   = time.Millisecond
	longestWait = 50 * time.Millisecond
	// TimeToAnswer is left of the deadline when a call gives up, so that its status arrives.
	TimeToAnswer = 20 * time.Millisecond
)

// reach reads the history of the user until it begins with what the session token of the request
// names.
func (l *list) reach(ctx context.Context) error {
	want, err := l.s.sessionVersion(l.req)
	if err != nil {
		return err
	}
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		if err := l.view(ctx); err != nil {
			return err
		}
		reached, err := l.s.reaches(ctx, l.req.GetUserId(), l.version, want)
		if reached || err != nil {
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// sessionVersion returns the version that the session token of a request names.
func (s *Service) sessionVersion(req *pb.RecommendRequest) (store.Version, error) {
	v, err := session.Read(s.Store.Identity(), req.GetUserId(), req.GetSessionToken())
	if errors.Is(err, session.ErrMalformed) {
		err = valid.Bad("session_token", "is damaged, or of another user")
	}
	return v, err
}

// reaches reports whether the history of a version that was read begins with a version that was
// demanded. If not, it is worth waiting. The error is outcome.ErrSessionLost if it never will.
func (s *Service) reaches(
	ctx context.Context, user string, got, want store.Version,
) (bool, error) {
	if got == want {
		return true, nil
	}
	head, same, err := s.Store.Since(ctx, user, want, nil)
	switch {
	case err != nil:
		return false, err
	case same && head == got:
		return true, nil
	case same && got.Revision < want.Revision:
		return false, nil
	case same:
		// What was read may be of another life, or there are newer events by now.
		_, same, err = s.Store.Since(ctx, user, got, nil)
		return same, err
	case s.Store.Identity().Lags:
		return false, nil // however long it is: it may be of the life before
	}
	return false, outcome.ErrSessionLost
}

// pause waits, unless the deadline of the call is too near.
func pause(ctx context.Context, wait time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait+TimeToAnswer {
		return outcome.ErrStaleSession
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
