package local

import (
	"errors"
	"fmt"

	"github.com/gsimc/gsimc/internal/fault"
)

// Spec holds the constants of a local term, see the package comment. The zero value is no term.
type Spec struct {
	Weight         float64 // μ; 0: there is no local term
	Backward       float64 // β, 0 to 1: share at which an item counts that came before
	SourceExponent float64 // e, 0 to 2
	TargetExponent float64 // f, 0 to 2
	Fade           float64 // a, 0 to 1: an event counts a times as much as the one after it
	Discount       float64 // δ, 0 to MaxGap: taken off every count of successions
	Neighbours     int     // largest number of items in a row of the graph
	Events         int     // events of a user that count, the newest ones
}

// Limits of Spec.
const (
	MaxNeighbours = 1000
	MaxEvents     = 100
	maxExponent   = 2
	maxWeight     = 1e6
)

// Default returns constants from which [Choose] begins. Their Weight is 0.
func Default() Spec {
	return Spec{
		Backward: 0.4, SourceExponent: 0.6, TargetExponent: 0.3, Fade: 0.65,
		Discount: 0.25, Neighbours: 50, Events: 10,
	}
}

// counted returns what a count F_ij + β F_ji is worth. The count is rounded first: states are equal
// in all bits on machines that fuse products with differences.
func (s *Spec) counted(f float64) float64 { return max(float64(f)-s.Discount, 0) }

// None tells whether there is no local term.
func (s Spec) None() bool { return s.Weight == 0 }

// Validate returns a fault for each field that is out of range, joined in one error. The zero
// value is valid.
func (s Spec) Validate() error {
	if s == (Spec{}) {
		return nil
	}
	var faults []error
	number := func(field string, x, most float64) {
		if !(x >= 0 && x <= most) {
			faults = append(faults, fault.New(field, x, fmt.Sprintf("0 to %v", most)))
		}
	}
	number("Weight", s.Weight, maxWeight)
	number("Backward", s.Backward, 1)
	number("SourceExponent", s.SourceExponent, maxExponent)
	number("TargetExponent", s.TargetExponent, maxExponent)
	number("Fade", s.Fade, 1)
	number("Discount", s.Discount, MaxGap)
	count := func(field string, x, most int) {
		if x < 1 || x > most {
			faults = append(faults, fault.New(field, x, fmt.Sprintf("1 to %d", most)))
		}
	}
	count("Neighbours", s.Neighbours, MaxNeighbours)
	count("Events", s.Events, MaxEvents)
	return errors.Join(faults...)
}
