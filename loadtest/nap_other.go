//go:build !linux

package loadtest

import "time"

// preciseThread would bind the calling goroutine to a thread with precise timers.
func preciseThread() func() { return func() {} }

// nap sleeps.
func nap(d time.Duration) { time.Sleep(d) }
