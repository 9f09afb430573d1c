//go:build !linux

package loadtest

import "time"

// alarm would be a timer of the kernel.
type alarm struct{}

func newAlarm() *alarm { return &alarm{} }

func (*alarm) close() {}

func (*alarm) sleep(d time.Duration) { time.Sleep(d) }
