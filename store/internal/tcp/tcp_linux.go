package tcp

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unacknowledged breaks a connection whose other end does not acknowledge what was sent.
func unacknowledged(limit time.Duration) func(network, _ string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		if network == "unix" {
			return nil
		}
		var set error
		err := c.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
				int(limit.Milliseconds()))
		})
		if err != nil {
			return err
		}
		return set
	}
}
