package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/store"
)

// admin implements AdminService, which has a listener of its own.
type admin struct {
	pb.UnsafeAdminServiceServer
	*Server
}

// GetStatus implements AdminService.
func (s admin) GetStatus(
	ctx context.Context, _ *pb.GetStatusRequest,
) (*pb.GetStatusResponse, error) {
	stats, err := s.store.Stats(ctx)
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
	if n := s.catalogue.Damaged(); n > 0 {
		damage = strings.TrimPrefix(fmt.Sprintf("%s; %d items of the catalogue are damaged, and "+
			"not shown: write or delete them", damage, n), "; ")
	}
	l := s.models.Acquire()
	defer l.Release()
	return &pb.GetStatusResponse{
		BuildVersion:  s.cfg.BuildVersion,
		StartTime:     timestamppb.New(s.started),
		Draining:      s.isDraining(),
		UsersInMemory: int64(s.states.Len()),
		StoreBytes:    stats.Bytes,
		StoreFailure:  failure,
		StoreDamage:   damage,
		Model:         models.Describe(l),
	}, nil
}

// ReloadModel implements AdminService.
func (s admin) ReloadModel(
	ctx context.Context, _ *pb.ReloadModelRequest,
) (*pb.ReloadModelResponse, error) {
	l, previous, err := s.models.Reload(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	if err := s.arms.ReloadOthers(ctx); err != nil {
		return nil, err
	}
	return &pb.ReloadModelResponse{Model: models.Describe(l), PreviousVersion: previous}, nil
}

// A copy of the store keeps files that the store would delete: few clients may hold one, and not
// for ever.
const (
	maxCheckpoints = 2
	checkpointTime = 6 * time.Hour
)

// CreateCheckpoint implements AdminService: the copy lives as long as the call.
func (s admin) CreateCheckpoint(
	_ *pb.CreateCheckpointRequest, stream pb.AdminService_CreateCheckpointServer,
) error {
	c, ok := s.store.(store.Checkpointer)
	if !ok {
		return outcome.ErrNotOnDisk
	}
	select {
	case s.checkpoints <- struct{}{}:
		defer func() { <-s.checkpoints }()
	default:
		return outcome.ErrCheckpoints
	}
	ctx, cancel := context.WithTimeout(stream.Context(), s.checkpointTime)
	defer cancel()
	dir, err := c.Checkpoint(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err := c.RemoveCheckpoint(context.WithoutCancel(ctx), dir); err != nil {
			s.log.LogAttrs(ctx, slog.LevelError,
				"a checkpoint is left in the store: remove it by hand or restart",
				slog.String("dir", dir), slog.String("error", err.Error()))
		}
	}()
	if err := stream.Send(&pb.CreateCheckpointResponse{Dir: dir}); err != nil {
		return err
	}
	<-ctx.Done()
	if s.isDraining() {
		return outcome.ErrDraining
	}
	return context.Cause(ctx)
}

// ListModels implements AdminService.
func (s admin) ListModels(
	context.Context, *pb.ListModelsRequest,
) (*pb.ListModelsResponse, error) {
	resp := &pb.ListModelsResponse{}
	for _, a := range s.arms.All() {
		l := a.Acquire()
		of := &pb.ArmModel{Arm: a.Name, Model: models.Describe(l.Lease),
			SharePercent:           s.arms.Split.Share(a.Index),
			ConfiguredSharePercent: s.arms.Split.Arm(a.Index).Share}
		l.Release()
		if a.Trial != nil {
			f := a.Trial.Figures()
			of.Canary = &pb.Canary{Returned: s.arms.Split.Dropped(a.Index),
				Gain: f.Arm, MainGain: f.Main, StandardError: f.StandardError,
				EventCount: int64(f.Events), MainEventCount: int64(f.MainEvents)}
		}
		resp.Models = append(resp.Models, of)
	}
	return resp, nil
}
