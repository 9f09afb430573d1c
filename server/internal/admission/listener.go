package admission

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"
)

// Listener accepts a bounded number of connections. When it is full, a newcomer takes the place of
// another: of the connection that has been silent for longest, one that never made a call first.
// So connections that are opened and left keep nobody out.
type Listener struct {
	net.Listener
	max     int
	metrics *Metrics

	swept atomic.Int64 // when unread answers were last looked for

	mu   sync.Mutex
	open map[*conn]struct{}
}

// Limit returns a listener that keeps at most this many connections of l open.
func Limit(l net.Listener, connections int, metrics *Metrics) *Listener {
	return &Listener{Listener: l, max: connections, metrics: metrics, open: map[*conn]struct{}{}}
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, of: l}
	c.heard.Store(now())
	l.mu.Lock()
	var victim *conn
	if len(l.open) >= l.max {
		victim = l.mostSilent()
	}
	l.open[c] = struct{}{}
	l.mu.Unlock()
	if victim != nil {
		l.metrics.closed.Inc()
		_ = victim.Close() // its owner learns of it by its next read
	}
	return c, nil
}

// mostSilent takes the connection to be closed out of the open ones.
func (l *Listener) mostSilent() (victim *conn) {
	for c := range l.open {
		if victim == nil || c.before(victim) {
			victim = c
		}
	}
	delete(l.open, victim)
	return victim
}

// conn is an open connection. A TLS connection over it shows its address.
type conn struct {
	net.Conn
	of     *Listener
	heard  atomic.Int64 // when bytes last came
	called atomic.Bool  // it made a call
	debt   atomic.Int64 // see Ticket.Answers
	low    atomic.Int64 // the lowest debt since the last sweep

	receiving int // calls whose message is on its way; guarded by the gate
}

// before reports whether c makes room before d.
func (c *conn) before(d *conn) bool {
	if a, b := c.called.Load(), d.called.Load(); a != b {
		return !a
	}
	return c.heard.Load() < d.heard.Load()
}

// Read implements [net.Conn].
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.heard.Store(now())
	}
	return n, err
}

// Write implements [net.Conn].
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.pay(int64(n))
	return n, err
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// RemoteAddr implements [net.Conn]. By its address a call finds its connection.
func (c *conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c} }

type address struct {
	net.Addr
	conn *conn
}

// noteCall notes that the connection of a call made one, and returns it, or nil for a connection of
// another listener.
func noteCall(ctx context.Context) *conn {
	p, _ := peer.FromContext(ctx)
	if p == nil {
		return nil
	}
	a, _ := p.Addr.(address)
	if a.conn != nil && !a.conn.called.Load() {
		a.conn.called.Store(true)
	}
	return a.conn
}

// add counts calls of the connection that are receiving.
func (c *conn) add(n int) {
	if c != nil {
		c.receiving += n
	}
}

// receives is the number of calls of the connection that are receiving, 0 of an unknown one.
func (c *conn) receives() int {
	if c == nil {
		return 0
	}
	return c.receiving
}

var start = time.Now()

// now is the monotonic time since the start of the process, in nanoseconds.
func now() int64 { return int64(time.Since(start)) }
