package nettest

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// echo answers what it is sent, on a host.
func echo(t *testing.T, h *Host) (addr string) {
	t.Helper()
	var l net.Listener
	if err := h.Do(func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(h.Addr(), "0"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// trip sends a word from a host, waits until it is back, and returns how long it took.
func trip(h *Host, addr string, patience time.Duration) (time.Duration, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := h.Dial(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	_ = c.SetDeadline(began.Add(patience))
	if _, err := io.WriteString(c, "word"); err != nil {
		return 0, err
	}
	_, err = io.ReadFull(c, make([]byte, 4))
	return time.Since(began), err
}

// A packet is to the host with all of its address, not with the end of it alone.
func TestReceiver(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]int{
		address(1): 0, address(22): 21, address(0): -1,
		"224.0.0.22": -1, "127.0.0.1": -1, "127.77.1.1": -1, "10.77.0.1": -1,
	} {
		destination := netip.MustParseAddr(to).As4()
		packet := append(append([]byte{4 << 4}, make([]byte, 15)...), destination[:]...)
		if got := receiver(packet); got != want {
			t.Errorf("to %s: %d, want %d", to, got, want)
		}
		packet[0] = 6 << 4
		if v6, short := receiver(packet), receiver(packet[:10]); v6 >= 0 || short >= 0 {
			t.Errorf("IPv6 goes to %d, a part of a packet to %d", v6, short)
		}
	}
}

// Three hosts reach each other, but for the faults of their network.
func TestNetwork(t *testing.T) {
	t.Parallel()
	n := New(t, 3)
	a, b, c := n.Hosts[:1], n.Hosts[1:2], n.Hosts[2:]
	atA, atB := echo(t, a[0]), echo(t, b[0])
	reaches := func(why string, from *Host, to string, want bool) {
		t.Helper()
		patience := 20 * time.Second
		if !want {
			patience = 300 * time.Millisecond
		}
		if _, err := trip(from, to, patience); (err == nil) != want {
			t.Errorf("%s: %s to %s: %v, want it to arrive: %t", why, from.Addr(), to, err, want)
		}
	}
	reaches("in order", a[0], atB, true)
	reaches("its own address", a[0], atA, true)
	n.Cut(a, b)
	reaches("cut", a[0], atB, false)
	reaches("cut", b[0], atA, false)
	reaches("cut elsewhere", c[0], atB, true)
	n.Heal()
	reaches("healed", a[0], atB, true)
	n.Set(Fault{Loss: 1}, a, b)
	reaches("one way", b[0], atA, false) // as no answer comes
	reaches("one way, elsewhere", c[0], atA, true)
	if n.Lost() == 0 {
		t.Error("no packet was lost")
	}
	n.Heal()
	const delay = 50 * time.Millisecond
	n.Set(Fault{Delay: delay}, a, b)
	if took, err := trip(a[0], atB, 20*time.Second); err != nil || took < 2*delay {
		t.Errorf("a connection and a word with %v each: %v, %v", delay, took, err)
	}
	n.Heal()
	n.Set(Fault{Loss: 0.3}, n.Hosts, n.Hosts)
	reaches("losses", c[0], atB, true) // TCP sends again
}
