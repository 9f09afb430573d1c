package server

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/state"
)

// users implements UserService.
type users struct {
	pb.UnsafeUserServiceServer
	*Server
}

// GetUser implements UserService.
func (s users) GetUser(ctx context.Context, req *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	if err := validateUserID(req.GetUserId()); err != nil {
		return nil, err
	}
	m := s.models.Acquire()
	defer m.Release()
	var user *pb.User
	err := s.states.View(ctx, m.Model, req.GetUserId(), func(u *state.User) {
		user = nil
		if u == nil {
			return
		}
		user = &pb.User{
			UserId:            req.GetUserId(),
			Revision:          u.Revision,
			EventCount:        int64(u.Revision),
			PendingEventCount: int64(u.Pending),
			FirstEventTime:    timestamppb.New(u.First),
			LastEventTime:     timestamppb.New(u.Last),
			Uncertainty:       s.uncertainty(m.Model, u),
		}
	})
	if err != nil {
		return nil, err
	}
	if user == nil {
		return nil, errUserNotFound
	}
	return &pb.GetUserResponse{User: user}, nil
}

// uncertainty returns the uncertainty that Recommend reports, if the model knows it; otherwise tr P
// / tr P_0, or 1 for a prior without variance, under which nothing can be learned.
func (s *Server) uncertainty(m *model.Model, u *state.User) float64 {
	if m.HasVariance() {
		variance := make([]float32, m.Rank())
		m.VarianceTo(variance, u.Kalman, s.now().Unix())
		return m.Uncertainty(variance)
	}
	prior := trace(m.NewState().P)
	if prior == 0 {
		return 1
	}
	return trace(u.Kalman.P) / prior
}

func trace(p []float32) float64 {
	var sum float64
	for _, v := range p {
		sum += float64(v)
	}
	return sum
}

// DeleteUser implements UserService.
func (s users) DeleteUser(
	ctx context.Context, req *pb.DeleteUserRequest,
) (*pb.DeleteUserResponse, error) {
	if err := validateUserID(req.GetUserId()); err != nil {
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
		s.extender.Forget(req.GetUserId())
	}
	if n == 0 && !req.GetAllowMissing() {
		return nil, errUserNotFound
	}
	if err := forget(ctx); err != nil {
		return nil, err
	}
	return &pb.DeleteUserResponse{DeletedEventCount: int64(n)}, nil
}
