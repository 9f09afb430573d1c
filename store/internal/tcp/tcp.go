// Package tcp makes connections of stores notice that their other end is gone.
package tcp

import (
	"net"
	"time"
)

// Dialer returns a dialer of connections that break after about limit without a word from the other
// end, whether something was sent to it or not. So the system does not deliver, long after a cut in
// the network, what was sent over a connection that was given up.
func Dialer(limit time.Duration) net.Dialer {
	return net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: limit / 2, Interval: limit / 6, Count: 3,
		},
		Control: unacknowledged(limit),
	}
}
