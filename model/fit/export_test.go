package fit

import (
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model/local"
)

// For tests that compare with a model.
var NewSample = newSample

const SampleUserPositions = sampleUserPositions

func (s *sample) Rank(r *dynamics.Readout) []local.Position { s.rank(r); return s.positions }
