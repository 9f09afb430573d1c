package admission

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/gsimc/gsimc/internal/test/check"
)

// accepted connects to the listener and returns both ends.
func accepted(t *testing.T, l *Listener) (client net.Conn, server *conn) {
	t.Helper()
	client, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	t.Cleanup(func() { client.Close() })
	c, err := l.Accept()
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return client, c.(*conn)
}

func closed(t *testing.T, client net.Conn) bool {
	t.Helper()
	must(t, client.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := client.Read(make([]byte, 1))
	return err == io.EOF
}

// Connections without a call make room first, then those that have been silent for longest.
func TestListenerMakesRoom(t *testing.T) {
	inner := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer inner.Close()
	l := Limit(inner, Bounds{Connections: 3}, NewMetrics())
	var clients []net.Conn
	var servers []*conn
	for range 3 {
		c, s := accepted(t, l)
		clients, servers = append(clients, c), append(servers, s)
	}
	for _, i := range []int{0, 2} { // they make calls
		noteCall(peer.NewContext(context.Background(), &peer.Peer{Addr: servers[i].RemoteAddr()}))
	}
	check.Get(clients[0].Write([]byte("x")))(t)
	check.Get(io.ReadFull(servers[0], make([]byte, 1)))(t)
	_, fourth := accepted(t, l)
	if !closed(t, clients[1]) || closed(t, clients[0]) || closed(t, clients[2]) {
		t.Error("the connection without a call did not make room")
	}
	fourth.called.Store(true)
	accepted(t, l)
	if !closed(t, clients[2]) || closed(t, clients[0]) {
		t.Error("the connection that was silent for longest did not make room")
	}
	check.Same(t, 3, len(l.open), "connections are open")
	clients[0].Close()
	servers[0].Close()
	servers[0].Close()
	check.Same(t, 2, len(l.open), "connections are open after one was closed")
}
