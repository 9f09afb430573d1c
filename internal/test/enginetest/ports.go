package enginetest

import (
	"crypto/rand"
	"errors"
	"net"
	"strconv"
	"testing"
)

// A lease keeps ports from the other tests of the machine, also while none of its servers runs: a
// server that was killed gets its port again. It holds the port of UDP with the same number, which
// no server here listens on, and ends with the process at the latest.
type lease []net.PacketConn

func (l lease) end() {
	for _, c := range l {
		_ = c.Close()
	}
}

// Port returns a port of loopback that no other test has until this one ends.
func Port(tb testing.TB) int {
	tb.Helper()
	ports, kept, err := leasePorts(1)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(kept.end)
	return ports[0]
}

// leasePorts returns n ports of loopback that nobody has, below all ports that the kernel gives to
// outgoing connections.
func leasePorts(n int) (ports []int, _ lease, _ error) {
	const lowest, span = 20_000, 12_000
	var l lease
	for range 2 * span {
		if len(ports) == n {
			return ports, l, nil
		}
		var b [2]byte
		_, _ = rand.Read(b[:])
		port := lowest + (int(b[0])<<8|int(b[1]))%span
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		kept, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		heard, err := net.Listen("tcp", addr)
		if err != nil {
			_ = kept.Close()
			continue
		}
		_ = heard.Close()
		ports, l = append(ports, port), append(l, kept)
	}
	l.end()
	return nil, nil, errors.New("no free ports from " + strconv.Itoa(lowest) + " on")
}
