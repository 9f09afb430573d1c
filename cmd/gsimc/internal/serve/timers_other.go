//go:build !linux

package serve

import "time"

// defaultTimerSlack is the default of --timer-slack.
const defaultTimerSlack = time.Duration(0)

// startWithSlack does nothing: only Linux has a slack of timers.
func startWithSlack(time.Duration) time.Duration { return 0 }
