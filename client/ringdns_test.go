package client

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver/dns"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// names is a server of DNS that knows one name.
type names struct {
	conn net.PacketConn

	mu        sync.Mutex
	addresses [][4]byte
}

// startNames starts a server of DNS on loopback.
func startNames(t *testing.T) *names {
	t.Helper()
	conn := check.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	n := &names{conn: conn}
	t.Cleanup(func() { _ = conn.Close() })
	go n.answer()
	return n
}

// set makes these the addresses of the name.
func (n *names) set(addresses ...[4]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses = addresses
}

func (n *names) answer() {
	packet := make([]byte, 512)
	for {
		size, from, err := n.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(packet[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			n.mu.Lock()
			for _, a := range n.addresses {
				m.Answers = append(m.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1},
					Body:   &dnsmessage.AResource{A: a}})
			}
			n.mu.Unlock()
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = n.conn.WriteTo(reply, from) // a lost answer is asked for again
		}
	}
}

// A ring over a name follows its addresses: users spread over servers that came, and leave those
// that went, without a failed call. All servers have the same port, as pods do.
func TestRingFollowsName(t *testing.T) {
	dns.SetMinResolutionInterval(20 * time.Millisecond) // nothing else here looks names up
	known := startNames(t)
	var port int
	start := func(last byte) (*ringServer, func()) {
		address := fmt.Sprintf("127.7.0.%d:%d", last, port)
		listener, err := net.Listen("tcp4", address)
		if err != nil {
			t.Skipf("%s cannot be listened on, which takes a loopback of 127.0.0.0/8: %v", address,
				err)
		}
		port = listener.Addr().(*net.TCPAddr).Port
		s := &ringServer{name: listener.Addr().String(), users: make(map[string]int)}
		g := grpc.NewServer(grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: 200 * time.Millisecond, MaxConnectionAgeGrace: time.Minute}))
		pb.RegisterRecommenderServiceServer(g, s)
		go g.Serve(listener) //nolint:errcheck // ends with the test
		t.Cleanup(g.Stop)
		return s, g.GracefulStop
	}
	first, stopFirst := start(1)
	known.set([4]byte{127, 7, 0, 1})
	r := check.Get(DialRing(RingOptions{Timeout: 20 * time.Second, Addresses: []string{
		fmt.Sprintf("dns://%s/gsimc.test.:%d", known.conn.LocalAddr(), port)}}))(t)
	t.Cleanup(func() { _ = r.Close() })
	// spread asks for lists until users are at all these servers, and at no other.
	spread := func(servers ...*ringServer) {
		t.Helper()
		limit := time.Now().Add(20 * time.Second)
		for at := map[string]int{}; ; clear(at) {
			for u := range 40 {
				at[recommend(t, r, fmt.Sprint("user ", u))]++
			}
			all := len(at) == len(servers)
			for _, s := range servers {
				all = all && at[s.name] > 0
			}
			if all {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("lists came from %v, want %d servers", at, len(servers))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	spread(first)
	second, _ := start(2)
	third, _ := start(3)
	known.set([4]byte{127, 7, 0, 1}, [4]byte{127, 7, 0, 2}, [4]byte{127, 7, 0, 3})
	spread(first, second, third)
	known.set([4]byte{127, 7, 0, 2}, [4]byte{127, 7, 0, 3})
	stopFirst()
	spread(second, third)
}
