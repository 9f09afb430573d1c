package tcp

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestDialer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := Dialer(3 * time.Second)
	c, err := d.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		if err != nil || got != 3000 {
			t.Errorf("TCP_USER_TIMEOUT: %d ms, %v, want 3000", got, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
