package nettest

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// prefix is that of the addresses of hosts. Outside of their namespaces these are the loopback
// interface, so that a connection that is made there by mistake stays within the machine.
const prefix = "127.77.0."

// subnet has the addresses of hosts.
var subnet = netip.MustParsePrefix(prefix + "0/24")

// Network carries packets between hosts. Its methods may be called by any goroutine.
type Network struct {
	// Hosts are all hosts.
	Hosts []*Host

	links [][]*link // from, to
	lost  atomic.Int64
}

// A Fault is what happens to packets on their way. The zero value is a network in order.
type Fault struct {
	// Loss is the share of packets that do not arrive, from 0 to 1.
	Loss float64
	// Delay is how long the others are under way.
	Delay time.Duration
}

// link is the way from one host to another one.
type link struct {
	fault   atomic.Pointer[Fault]
	delayed chan packet
}

// packet is one that arrives later.
type packet struct {
	due  time.Time
	data []byte
}

// mostDelayed is the number of packets that are under way on a link; further ones get lost.
const mostDelayed = 1 << 14

// New makes hosts that reach each other, for the time of the test. Where namespaces or TUN devices
// are not to be had it skips the test.
func New(tb testing.TB, hosts int) *Network {
	tb.Helper()
	n := &Network{}
	for i := range hosts {
		h, err := newHost(i + 1)
		if err != nil {
			for _, made := range n.Hosts {
				made.close()
			}
			tb.Skipf("hosts of one machine need Linux, root (CAP_NET_ADMIN and CAP_SYS_ADMIN) and "+
				"/dev/net/tun: %v", err)
		}
		n.Hosts = append(n.Hosts, h)
	}
	var carriers sync.WaitGroup
	for from, h := range n.Hosts {
		n.links = append(n.links, make([]*link, hosts))
		for to := range n.Hosts {
			l := &link{delayed: make(chan packet, mostDelayed)}
			l.fault.Store(&Fault{})
			n.links[from][to] = l
			go l.deliver(n.Hosts[to].tun)
		}
		carriers.Go(func() { n.carry(h.tun, n.links[from]) })
	}
	tb.Cleanup(func() {
		for _, h := range n.Hosts {
			h.close()
		}
		carriers.Wait()
		for _, from := range n.links {
			for _, l := range from {
				close(l.delayed)
			}
		}
	})
	return n
}

// carry sends the packets of a host on their ways until the host is closed.
func (n *Network) carry(from *os.File, links []*link) {
	data := make([]byte, 1<<16)
	for {
		size, err := from.Read(data)
		if err != nil {
			return
		}
		to := receiver(data[:size])
		if to < 0 || to >= len(links) {
			continue // to all, or to nobody
		}
		l := links[to]
		f := l.fault.Load()
		switch {
		case f.Loss > 0 && rand.Float64() < f.Loss:
			n.lost.Add(1)
		case f.Delay > 0:
			select {
			case l.delayed <- packet{time.Now().Add(f.Delay), slices.Clone(data[:size])}:
			default:
				n.lost.Add(1)
			}
		default:
			_, _ = n.Hosts[to].tun.Write(data[:size]) // as a packet that gets lost
		}
	}
}

// receiver returns the index of the host that a packet is to; negative: it is to none.
func receiver(data []byte) int {
	const header = 20 // of IPv4; the destination is its end
	if len(data) < header || data[0]>>4 != 4 {
		return -1 // packets of IPv6 look for neighbours
	}
	to := [4]byte(data[header-4 : header])
	if !subnet.Contains(netip.AddrFrom4(to)) {
		return -1 // a group of hosts, as 224.0.0.22
	}
	return int(to[3]) - 1
}

// deliver writes delayed packets to a host when they are due.
func (l *link) deliver(to *os.File) {
	for p := range l.delayed {
		time.Sleep(time.Until(p.due))
		_, _ = to.Write(p.data)
	}
}

// Set puts a fault on all ways from some hosts to others, and not on the ways back.
func (n *Network) Set(f Fault, from, to []*Host) {
	for _, a := range from {
		for _, b := range to {
			n.links[a.number-1][b.number-1].fault.Store(&f)
		}
	}
}

// Cut parts hosts from others, both ways.
func (n *Network) Cut(some, others []*Host) {
	n.Set(Fault{Loss: 1}, some, others)
	n.Set(Fault{Loss: 1}, others, some)
}

// Heal ends all faults.
func (n *Network) Heal() { n.Set(Fault{}, n.Hosts, n.Hosts) }

// Lost returns how many packets the network has lost so far.
func (n *Network) Lost() int64 { return n.lost.Load() }

// address returns that of a host.
func address(number int) string { return fmt.Sprint(prefix, number) }
