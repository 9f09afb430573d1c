package enginetest

import (
	"context"
	"net"
	"time"
)

// A Host is where servers run that do not run beside the test, such as a nettest.Host.
type Host interface {
	// Addr is its address, without a port.
	Addr() string
	// Do calls f, which starts a process, so that this belongs to the host.
	Do(f func() error) error
	// Dial connects to an address of the host from inside, past all faults.
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// hostOf returns the host of a server; nil: that of the test.
func hostOf(hosts []Host, server int) Host {
	if server < len(hosts) {
		return hosts[server]
	}
	return nil
}

// ip returns the address of a host.
func ip(h Host) string {
	if h == nil {
		return "127.0.0.1"
	}
	return h.Addr()
}

// do calls f in a host.
func do(h Host, f func() error) error {
	if h == nil {
		return f()
	}
	return h.Do(f)
}

// dial connects to a server from its host.
func dial(h Host, addr string, timeout time.Duration) (net.Conn, error) {
	if h == nil {
		return net.DialTimeout("tcp", addr, timeout)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return h.Dial(ctx, "tcp", addr)
}
