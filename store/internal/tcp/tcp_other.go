//go:build !linux

package tcp

import (
	"syscall"
	"time"
)

func unacknowledged(time.Duration) func(string, string, syscall.RawConn) error { return nil }
