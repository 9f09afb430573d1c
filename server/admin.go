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
	"github.com/gsimc/gsimc/model"
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
		Model:         describeModel(l),
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
	if err := s.reloadArms(ctx); err != nil {
		return nil, err
	}
	return &pb.ReloadModelResponse{Model: describeModel(l), PreviousVersion: previous}, nil
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

// dynamicsPopularity are those of no model.
const dynamicsPopularity = "popularity"

// describeModel describes a model for operators: over the API, in the metrics and in the log.
func describeModel(l *models.Lease) *pb.Model {
	spec := l.Spec()
	m := &pb.Model{
		Version:   l.Base().Version(),
		ItemCount: int64(l.NumItems()),
		Rank:      int32(l.Rank()),
		Graph:     spec.Graph,
		LoadTime:  timestamppb.New(l.Loaded()),
		Dynamics:  spec.Dynamics.Kind,

		ModelVersion: l.Version(),
	}
	if !l.Personal() {
		m.Dynamics, m.Graph, m.Rank = dynamicsPopularity, "", 0
		return m
	}
	if spec.Dynamics.Kind != model.DynamicsLearned {
		m.Filter = spec.Filter.Name
	}
	if at, ok := spec.TrainedAt(); ok {
		m.TrainTime = timestamppb.New(at)
	}
	return m
}

// trainedAt returns the time of the training as RFC 3339, empty if it is unknown.
func trainedAt(m *pb.Model) string {
	if m.GetTrainTime() == nil {
		return ""
	}
	return m.GetTrainTime().AsTime().Format(time.RFC3339)
}
