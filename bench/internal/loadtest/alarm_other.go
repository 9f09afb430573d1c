//go:build !linux

package loadtest

import "time"

// alarm is a timer of the Go runtime: timers of the kernel are used on Linux only.
type alarm struct{}

func newAlarm() *alarm { return &alarm{} }

func (*alarm) close() {}

func (*alarm) sleep(d time.Duration) { time.Sleep(d) }
