package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// users implements UserService.
type users struct {
	pb.UnsafeUserServiceServer
	*Server
}

// GetUser implements UserService.
func (s users) GetUser(ctx context.Context, req *pb.GetUserRequest) (*pb.GetUserResponse, error) {
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
func (s users) summary(ctx context.Context, id string) (*pb.User, store.Version, error) {
	m := s.arms.Of(id).Acquire()
	defer m.Release()
	const attempts = 3 // the history may be erased between the state and its events
	for range attempts {
		shift := &tasteShift{model: m.Model, estimator: s.cfg.Estimator, updater: s.updater}
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
func (s users) view(
	ctx context.Context, m *model.Model, id string, shift *tasteShift,
) (*pb.User, store.Version, error) {
	var (
		user *pb.User
		head store.Version
	)
	err := s.states.View(ctx, m, id, func(u *state.User) {
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
	// maxEventTypes is the number of types in a summary. Clients choose them.
	maxEventTypes = 100
	// maxCountedTypes bounds those that are counted, the ones that the history has first.
	maxCountedTypes = 10_000
)

// eventTypes returns the types of the events of a history, which it gives to shift, too. It is an
// error if the history does not begin with that of the version.
func (s users) eventTypes(
	ctx context.Context, user string, head store.Version, shift *tasteShift,
) ([]*pb.EventTypeSummary, error) {
	types, weights := map[string]*pb.EventTypeSummary{}, s.updater.Weights()
	var reached store.Version
	_, _, err := s.store.Since(ctx, user, store.Version{},
		func(v store.Version, e store.Event) error {
			reached = v
			t := types[e.Type]
			if t == nil && len(types) == maxCountedTypes {
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
	return list[:min(len(list), maxEventTypes)], nil
}

// uncertainty returns the uncertainty that Recommend reports; nil where it reports none.
func (s users) uncertainty(m *model.Model, u *state.User) *float64 {
	if !m.TellsUncertainty() {
		return nil
	}
	variance := make([]float32, m.Rank())
	m.VarianceTo(variance, u.Kalman, s.now().Unix())
	return proto.Float64(m.Uncertainty(variance))
}

// DeleteUser implements UserService.
func (s users) DeleteUser(
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
	n, err := s.states.Erase(ctx, req.GetUserId())
	if err != nil {
		return nil, err
	}
	if n > 0 {
		s.follow.Forgot(req.GetUserId())
	}
	if n == 0 && !req.GetAllowMissing() {
		return nil, outcome.ErrUserNotFound
	}
	resp := &pb.DeleteUserResponse{DeletedEventCount: int64(n)}
	if n > 0 || req.GetWaitForErasure() {
		resp.ErasureId = rand.Text()
	}
	record := func(what string) *timestamppb.Timestamp {
		s.log.LogAttrs(ctx, slog.LevelInfo, what, slog.String("erasure_id", resp.GetErasureId()),
			slog.Uint64("events", n))
		return timestamppb.New(s.now())
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
