// Package operate implements AdminService: what operators see of a server, and tell it.
package operate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/credit"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/store"
)

// Deps are what the service needs.
type Deps struct {
	Bounds
	Arms          *arms.Set
	Credits       *credit.Book // which has the figures of the arms
	Store         store.Store
	Catalogue     *catalogue.Catalogue
	UsersInMemory func() int
	BuildVersion  string
	Started       time.Time
	Draining      func() bool
	Caller        func(context.Context) string // who makes a call
	Level         *slog.LevelVar               // of Log; nil: it cannot be changed
	Log           *slog.Logger
}

// Bounds are those of copies of the store. A copy keeps files that the store would delete: few
// clients may hold one, and not for ever.
type Bounds struct {
	Checkpoints    chan struct{} // has the room of so many
	CheckpointTime time.Duration
}

// Usual returns the bounds of a server.
func Usual() Bounds {
	return Bounds{Checkpoints: make(chan struct{}, 2), CheckpointTime: 6 * time.Hour}
}

// service implements AdminService, which has a listener of its own.
type service struct {
	pb.UnsafeAdminServiceServer
	Deps
	id string // see ListModelsResponse

	traffic sync.Mutex // shares and the figures that belong to them
}

// New returns the service.
func New(d Deps) pb.AdminServiceServer { return &service{Deps: d, id: rand.Text()} }

// GetStatus implements AdminService.
func (s *service) GetStatus(
	ctx context.Context, _ *pb.GetStatusRequest,
) (*pb.GetStatusResponse, error) {
	stats, err := s.Store.Stats(ctx)
	failure := ""
	switch {
	// operators need the reason
	case errors.Is(err, store.ErrFailed), errors.Is(err, store.ErrUnavailable):
		failure = err.Error()
	case err != nil:
		return nil, err
	}
	damage := ""
	if stats.Damage != nil {
		damage = stats.Damage.Error()
	}
	if n := s.Catalogue.Damaged(); n > 0 {
		damage = strings.TrimPrefix(fmt.Sprintf("%s; items of the catalogue are damaged (%d), "+
			"and not shown: write or delete them", damage, n), "; ")
	}
	l := s.Arms.Main().Models.Acquire()
	defer l.Release()
	return &pb.GetStatusResponse{
		BuildVersion:  s.BuildVersion,
		StartTime:     timestamppb.New(s.Started),
		Draining:      s.Draining(),
		UsersInMemory: int64(s.UsersInMemory()),
		StoreBytes:    stats.Bytes,
		StoreFailure:  failure,
		StoreDamage:   damage,
		Model:         models.Describe(l),
	}, nil
}

// ReloadModel implements AdminService.
func (s *service) ReloadModel(
	ctx context.Context, _ *pb.ReloadModelRequest,
) (*pb.ReloadModelResponse, error) {
	l, previous, err := s.Arms.Main().Models.Reload(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	if err := s.Arms.ReloadOthers(ctx); err != nil {
		return nil, err
	}
	return &pb.ReloadModelResponse{Model: models.Describe(l), PreviousVersion: previous}, nil
}

// CreateCheckpoint implements AdminService: the copy lives as long as the call.
func (s *service) CreateCheckpoint(
	_ *pb.CreateCheckpointRequest, stream pb.AdminService_CreateCheckpointServer,
) error {
	c, ok := s.Store.(store.Checkpointer)
	if !ok {
		return outcome.ErrNotOnDisk
	}
	select {
	case s.Checkpoints <- struct{}{}:
		defer func() { <-s.Checkpoints }()
	default:
		return outcome.ErrCheckpoints
	}
	ctx, cancel := context.WithTimeout(stream.Context(), s.CheckpointTime)
	defer cancel()
	dir, err := c.Checkpoint(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err := c.RemoveCheckpoint(context.WithoutCancel(ctx), dir); err != nil {
			s.Log.LogAttrs(ctx, slog.LevelError,
				"a checkpoint is left in the store: remove it by hand or restart",
				slog.String("dir", dir), slog.String("error", err.Error()))
		}
	}()
	if err := stream.Send(&pb.CreateCheckpointResponse{Dir: dir}); err != nil {
		return err
	}
	<-ctx.Done()
	if s.Draining() {
		return outcome.ErrDraining
	}
	if errors.Is(stream.Context().Err(), context.Canceled) {
		return nil // the client has its copy, or is gone
	}
	return context.Cause(ctx)
}

// ListModels implements AdminService.
func (s *service) ListModels(
	context.Context, *pb.ListModelsRequest,
) (*pb.ListModelsResponse, error) {
	s.traffic.Lock()
	defer s.traffic.Unlock()
	resp, outcomes := &pb.ListModelsResponse{ServerId: s.id}, s.Credits.Figures()
	for _, a := range s.Arms.All() {
		l := a.Acquire()
		of := &pb.ArmModel{Arm: a.Name, Model: models.Describe(l.Lease),
			SharePercent:           s.Arms.Split.Share(a.Index),
			ConfiguredSharePercent: s.Arms.Split.Given(a.Index),
			Outcome:                countsOf(outcomes, a.Index)}
		l.Release()
		if a.Trial != nil {
			f := a.Trial.Figures()
			of.Canary = &pb.Canary{Returned: s.Arms.Split.Dropped(a.Index),
				Gain: f.Arm, MainGain: f.Main, StandardError: f.StandardError,
				EventCount: int64(f.Events), MainEventCount: int64(f.MainEvents)}
		}
		resp.Models = append(resp.Models, of)
	}
	wire.Judge(resp.Models)
	return resp, nil
}
