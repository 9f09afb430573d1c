package models

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
)

// dynamicsPopularity are those of no model.
const dynamicsPopularity = "popularity"

// Describe describes a model for operators: over the API, in the metrics and in the log.
func Describe(l *Lease) *pb.Model {
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

// TrainedAt returns the time of the training of a model as RFC 3339, empty if it is unknown.
func TrainedAt(m *pb.Model) string {
	if m.GetTrainTime() == nil {
		return ""
	}
	return m.GetTrainTime().AsTime().Format(time.RFC3339)
}
