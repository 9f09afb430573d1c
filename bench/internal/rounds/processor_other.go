//go:build !linux

package rounds

import "time"

// processorTime is the time that has passed: there is no clock of the process here.
func processorTime() time.Duration { return time.Since(start) }
