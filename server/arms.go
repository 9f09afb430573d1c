package server

import (
	"slices"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/server/internal/arms"
)

// Arm is a further model, which answers a share of the users.
type Arm = arms.Arm

// tracedArms are the arms, whose models are opened with spans if there are any.
func (c *Config) tracedArms() []Arm {
	list := slices.Clone(c.Arms)
	for i := range list {
		list[i].Open = tracedOpen(c.Tracer, list[i].Open)
	}
	return list
}

// validateArms returns the faults of the fields about arms.
func (c *Config) validateArms() []error {
	faults := []error{arms.Validate(c.Arms), atLeast("CanaryEvents", c.CanaryEvents, 2)}
	if !(c.CanaryZ >= 0 && c.CanaryZ <= 100) {
		faults = append(faults, fault.New("CanaryZ", c.CanaryZ, "a number from 0 to 100"))
	}
	for _, a := range c.Arms {
		if a.Canary && c.QualitySample == 0 {
			faults = append(faults, &fault.Fault{Field: "Arms",
				Problem: "no event is measured, and " + a.Name + " is a canary",
				Advice:  []fault.Change{{Verb: "set", Field: "QualitySample", To: "above 0"}}})
		}
	}
	return faults
}
