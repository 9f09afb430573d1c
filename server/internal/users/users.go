// Package users implements UserService: what the server knows of a user, and how a user corrects,
// takes along and erases it.
package users

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/follow"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// Deps are what the service needs.
type Deps struct {
	Bounds
	Store     store.Store
	Arms      *arms.Set
	States    *state.Cache
	Updater   *state.Updater
	Follow    follow.Follower // is told of histories that change
	Estimator model.Estimator
	Now       func() time.Time
	Caller    func(context.Context) string // who makes a call
	Draining  context.Context              // ends when calls that last are told to come to an end
	Log       *slog.Logger
}

// Bounds are what the calls that last, or need much memory, share. A channel has the room of so
// many calls.
type Bounds struct {
	ErasureWaits, Rewrites chan struct{}
	Exports                *Exports
	RewriteHistory         uint64 // events of the histories that a call rewrites
}

// Usual returns the bounds of a server.
func Usual() Bounds {
	return Bounds{
		ErasureWaits:   make(chan struct{}, maxErasureWaits),
		Exports:        NewExports(maxExports),
		Rewrites:       make(chan struct{}, maxRewrites),
		RewriteHistory: maxRewriteHistory,
	}
}

// service implements UserService.
type service struct {
	pb.UnsafeUserServiceServer
	Deps
}

// New returns the service.
func New(d Deps) pb.UserServiceServer { return &service{Deps: d} }

// GetUser implements UserService.
func (s *service) GetUser(
	ctx context.Context, req *pb.GetUserRequest,
) (*pb.GetUserResponse, error) {
	if err := valid.UserID(req.GetUserId()); err != nil {
		return nil, err
	}
	user, _, err := s.summary(ctx, req.GetUserId())
	if err != nil {
		return nil, err
	}
	return &pb.GetUserResponse{User: user}, nil
}

// summary returns the summary of a user, and the version of the history that it is of.
func (s *service) summary(ctx context.Context, id string) (*pb.User, store.Version, error) {
	m := s.Arms.Of(id).Acquire()
	defer m.Release()
	const attempts = 3 // the history may be erased between the state and its events
	for range attempts {
		shift := &tasteShift{model: m.Model, estimator: s.Estimator, updater: s.Updater}
		user, head, err := s.view(ctx, m.Model, id, shift)
		if err != nil {
			return nil, head, err
		}
		user.EventTypes, err = s.eventTypes(ctx, id, head, shift)
		user.TasteShift = shift.value()
		if !errors.Is(err, outcome.ErrHistoryChanged) {
			return user, head, err
		}
	}
	return nil, store.Version{}, outcome.ErrHistoryChanged
}

// view returns what the state of a user by m tells, and gives it to shift.
func (s *service) view(
	ctx context.Context, m *model.Model, id string, shift *tasteShift,
) (*pb.User, store.Version, error) {
	var (
		user *pb.User
		head store.Version
	)
	err := s.States.View(ctx, m, id, func(u *state.User) {
		user = nil
		if u == nil {
			return
		}
		head = u.Version
		user = &pb.User{
			UserId:            id,
			Revision:          u.Revision,
			EventCount:        int64(u.Revision),
			PendingEventCount: int64(u.Pending),
			FirstEventTime:    timestamppb.New(u.First),
			LastEventTime:     timestamppb.New(u.Last),
			Uncertainty:       s.uncertainty(m, u),
		}
		shift.begin(u)
	})
	if err == nil && user == nil {
		err = outcome.ErrUserNotFound
	}
	return user, head, err
}

const (
	// MaxEventTypes is the number of types in a summary. Clients choose them.
	MaxEventTypes = 100
	// MaxCountedTypes bounds those that are counted, the ones that the history has first.
	MaxCountedTypes = 10_000
)

// eventTypes returns the types of the events of a history, which it gives to shift, too. It is an
// error if the history does not begin with that of the version.
func (s *service) eventTypes(
	ctx context.Context, user string, head store.Version, shift *tasteShift,
) ([]*pb.EventTypeSummary, error) {
	types, weights := map[string]*pb.EventTypeSummary{}, s.Updater.Weights()
	var reached store.Version
	_, _, err := s.Store.Since(ctx, user, store.Version{},
		func(v store.Version, e store.Event) error {
			reached = v
			t := types[e.Type]
			if t == nil && len(types) == MaxCountedTypes {
				t = &pb.EventTypeSummary{} // counted for nothing
			} else if t == nil {
				t = &pb.EventTypeSummary{EventType: e.Type,
					Weight: weights.OfType(e.Type)}
				types[e.Type] = t
			}
			shift.add(e)
			t.EventCount++
			t.TotalWeight += float64(weights.Of(e.Type, e.Value))
			if v.Revision == head.Revision {
				return errEnough
			}
			return nil
		})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if reached != head {
		return nil, outcome.ErrHistoryChanged
	}
	list := slices.SortedFunc(maps.Values(types), func(a, b *pb.EventTypeSummary) int {
		return cmp.Or(cmp.Compare(b.GetEventCount(), a.GetEventCount()),
			cmp.Compare(a.GetEventType(), b.GetEventType()))
	})
	return list[:min(len(list), MaxEventTypes)], nil
}

// uncertainty returns the uncertainty that Recommend reports; nil where it reports none.
func (s *service) uncertainty(m *model.Model, u *state.User) *float64 {
	if !m.TellsUncertainty() {
		return nil
	}
	variance := make([]float32, m.Rank())
	m.VarianceTo(variance, u.Kalman, s.Now().Unix())
	return proto.Float64(m.Uncertainty(variance))
}

// DeleteUser implements UserService.
func (s *service) DeleteUser(
	ctx context.Context, req *pb.DeleteUserRequest,
) (*pb.DeleteUserResponse, error) {
	if err := valid.UserID(req.GetUserId()); err != nil {
		return nil, err
	}
	forget := func(context.Context) error { return nil }
	if req.GetWaitForErasure() {
		wait, done, err := s.beginWait()
		if err != nil {
			return nil, err
		}
		defer done()
		forget = wait
	}
	n, err := s.States.Erase(ctx, req.GetUserId())
	if err != nil {
		return nil, err
	}
	if n > 0 {
		s.Follow.Forgot(req.GetUserId())
	}
	if n == 0 && !req.GetAllowMissing() {
		return nil, outcome.ErrUserNotFound
	}
	resp := &pb.DeleteUserResponse{DeletedEventCount: int64(n)}
	if n > 0 || req.GetWaitForErasure() {
		resp.ErasureId = rand.Text()
	}
	record := func(what string) *timestamppb.Timestamp {
		s.Log.LogAttrs(ctx, slog.LevelInfo, what, slog.String("erasure_id", resp.GetErasureId()),
			slog.Uint64("events", n))
		return timestamppb.New(s.Now())
	}
	if n > 0 {
		resp.DeleteTime = record("a user was deleted")
	}
	if err := forget(ctx); err != nil {
		return nil, err
	}
	if req.GetWaitForErasure() {
		resp.EraseTime = record("nothing of the user is left in the files of the store")
	}
	return resp, nil
}
