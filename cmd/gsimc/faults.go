package main

import "github.com/gsimc/gsimc/fault"

// dataFlagOf names the flag of each field of dataset.Options and synthetic.Config.
var dataFlagOf = map[string]string{
	"Data":       "--data",
	"UserColumn": "--user-column", "ItemColumn": "--item-column", "TimeColumn": "--time-column", "WeightColumn": "--weight-column",
	"MinUserEvents": "--min-user-events", "MinItemEvents": "--min-item-events", "MaxBadRows": "--max-bad-rows",
	"Users": "--users", "Items": "--items", "Events": "--events",
}

// inDataFlags returns err with the fields of its faults under the names of their flags, nil for nil.
func inDataFlags(err error) error {
	if err == nil {
		return nil
	}
	return flagError{err}
}

// flagError prints the faults in an error with their flags.
type flagError struct{ error }

func (e flagError) Error() string {
	return fault.Text(e.error, func(field string) string {
		if flag, ok := dataFlagOf[field]; ok {
			return flag
		}
		return field
	})
}

func (e flagError) Unwrap() error { return e.error }
