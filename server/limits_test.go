package server

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/h2test"
)

// Each limit of a connection is in force: a server without one of them fails here.
func TestLimitsOfConnections(t *testing.T) {
	t.Parallel()
	ts := start(t, setup{config: func(c *Config) {
		c.MaxConcurrentStreams, c.MaxConnectionAge = 7, time.Second
	}})
	t.Run("calls", func(t *testing.T) {
		c := h2test.Dial(t, ts.rpc)
		same(t, uint32(7), c.Streams, "calls that the server allows")
		for range 7 {
			c.Call(pb.EventService_StreamObserve_FullMethodName)
		}
		over := c.Call(pb.EventService_StreamObserve_FullMethodName)
		eventually(t, "one call too many is refused", func() bool { return c.Ended(over) })
	})
	t.Run("headers", func(t *testing.T) {
		c := h2test.Dial(t, ts.rpc)
		same(t, uint32(maxHeaderBytes), c.Headers, "bytes of headers that the server allows")
		id := c.Call(pb.RecommenderService_Recommend_FullMethodName,
			hpack.HeaderField{Name: "x", Value: strings.Repeat("a", maxHeaderBytes)})
		eventually(t, "a call with too many headers ends", func() bool { return c.Ended(id) })
		same(t, "", c.Status(id), "its headers were read: status")
	})
	t.Run("age", func(t *testing.T) {
		c := h2test.Dial(t, ts.rpc)
		c.Call(pb.EventService_StreamObserve_FullMethodName)
		eventually(t, "the client is asked to connect anew", func() bool {
			return c.GoAways() > 0
		})
	})
	t.Run("handshake", func(t *testing.T) {
		c := check.Get(net.Dial("tcp", ts.rpc))(t)
		defer c.Close()
		must(t, c.SetReadDeadline(time.Now().Add(4*handshakeTimeout)))
		check.Pass(t, check.Err(io.Copy(io.Discard, c)),
			"a connection that says nothing is not closed")
	})
}

// Connections to the ops listener that are opened and left, or whose pages are not read, are few,
// and probes go on.
func TestConnectionsOfTheOpsListener(t *testing.T) {
	t.Parallel()
	ts := start(t, setup{})
	const connections = maxOpsConnections + 40
	var conns []net.Conn
	for i := range connections {
		c := check.Get(net.Dial("tcp", ts.ops))(t)
		defer c.Close()
		if i%2 == 0 {
			check.Get(io.WriteString(c, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
				10)))(t)
		}
		conns = append(conns, c)
	}
	for range 5 {
		if code, _ := ts.get(t, "/readyz"); code != 200 {
			t.Errorf("readyz answers %d", code)
		}
	}
	closed := 0
	eventually(t, "the connections beyond the limit are closed", func() bool {
		conns = slices.DeleteFunc(conns, func(c net.Conn) bool {
			must(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
			_, err := io.Copy(io.Discard, c)
			timeout, ok := err.(net.Error)
			if ok && timeout.Timeout() {
				return false
			}
			closed++
			return true
		})
		return closed >= connections-maxOpsConnections
	})
}

// A client of the ops listener that does not read its pages loses its connection.
func TestUnreadPages(t *testing.T) {
	ts := start(t, setup{bounds: func(b *bounds) { b.opsWrite = 200 * time.Millisecond }})
	c, err := net.Dial("tcp", ts.ops)
	must(t, err)
	defer c.Close()
	must(t, c.SetWriteDeadline(time.Now().Add(20*time.Second)))
	for err == nil { // until the buffers of both ends are full, and then the server gives up
		_, err = io.WriteString(c, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 100))
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Error("the client is not cut off")
	}
}
