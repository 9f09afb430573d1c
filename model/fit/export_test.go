package fit

import (
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model/local"
)

// For tests that compare with a model.
var (
	NewSample = newSample
	SampleOf  = sampleOf
)

const SampleUserPositions = sampleUserPositions

func (s *sample) Rank(r *dynamics.Readout) []local.Position { s.rank(r); return s.positions }

func (h *Histories) Successions(degrees []int64, neighbours int) *local.Successions {
	return h.successions(degrees, neighbours)
}
