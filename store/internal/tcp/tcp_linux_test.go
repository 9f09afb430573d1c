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
		got := check.Get(unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT))(t)
		check.Same(t, 3000, got, "TCP_USER_TIMEOUT in ms")
	})
	check.Must(t, err)
}
