package server

import (
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/arms"
)

// Arm is a further model, which answers a share of the users.
type Arm struct {
	// Name has at most 24 small letters, digits, _ and -, the first a letter. It stands in answers
	// and metrics. "main" is the model of the server.
	Name string
	// Open opens the model. It is called again at each reload, as that of the server.
	Open func() (*model.Model, error)
	// Share is the percentage of the users, 0 to 100; those that no arm has are main's.
	Share float64
	// Canary gives the users back to main when the arm is found worse, see [arms.Trial].
	Canary bool
}

// armsOf are the arms without their models.
func (c *Config) armsOf() []arms.Arm {
	var list []arms.Arm
	for _, a := range c.Arms {
		list = append(list, arms.Arm{Name: a.Name, Share: a.Share, Canary: a.Canary})
	}
	return list
}

// armSources are the arms with what opens their models.
func (c *Config) armSources() (sources []arms.Source) {
	for i, a := range c.armsOf() {
		sources = append(sources, arms.Source{Arm: a, Open: tracedOpen(c.Tracer, c.Arms[i].Open)})
	}
	return sources
}

// validateArms returns the faults of the fields about arms.
func (c *Config) validateArms() []error {
	faults := []error{arms.Validate(c.armsOf()), atLeast("CanaryEvents", c.CanaryEvents, 2)}
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
