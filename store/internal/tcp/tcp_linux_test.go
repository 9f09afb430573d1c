package tcp

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestDialer(t *testing.T) {
	l := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	d := Dialer(3 * time.Second)
	c := check.Get(d.Dial("tcp", l.Addr().String()))(t)
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	check.Must(t, err)
	err = raw.Control(func(fd uintptr) {
		got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		if err != nil || got != 3000 {
			t.Errorf("TCP_USER_TIMEOUT: %d ms, %v, want 3000", got, err)
		}
	})
	check.Must(t, err)
}
