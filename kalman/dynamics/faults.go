package dynamics

import "github.com/gsimc/gsimc/internal/fault"

// errNoDeviation refuses dynamics without the variances that a function is about.
func errNoDeviation() error {
	return &fault.Fault{Field: "Dynamics", Problem: "have no deviation, so there are no variances"}
}

// errNoMeasurements refuses histories that measure nothing.
func errNoMeasurements() error {
	return &fault.Fault{Field: "Histories", Problem: "there are no events of positive weight"}
}
