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
//
// It also closes connections whose clients do not read their answers, see [Bounds].
type Listener struct {
	net.Listener
	max     int
	metrics *Metrics
	answers *answers

	mu   sync.Mutex
	open map[*conn]struct{}
}

// Bounds are those of a listener.
type Bounds struct {
	// Connections is the largest number of open ones.
	Connections int
	// AnswerTime is the time after which, or at the latest half as much later, a connection is
	// closed that has an unwritten answer.
	AnswerTime time.Duration
	// AnswerBytes is the memory of all unwritten answers. Beyond it the connection with most of
	// them is closed, one that writes nothing first.
	AnswerBytes int
}

// Limit returns a listener that keeps the connections of l within bounds.
func Limit(l net.Listener, b Bounds, metrics *Metrics) *Listener {
	return &Listener{Listener: l, max: b.Connections, metrics: metrics,
		open: map[*conn]struct{}{},
		answers: &answers{long: b.AnswerTime, most: b.AnswerBytes, metrics: metrics,
			owing: map[*conn]struct{}{}}}
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

	receiving int // calls whose message is on its way; guarded by the gate
	feeds     int // streams of messages; guarded by the gate
	unwritten unwritten
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

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	c.of.answers.mu.Lock()
	c.of.answers.forget(c)
	c.of.answers.mu.Unlock()
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

// feed counts streams of messages of the connection.
func (c *conn) feed(n int) {
	if c != nil {
		c.feeds += n
	}
}

// streams is the number of streams of messages of the connection, 0 of an unknown one.
func (c *conn) streams() int {
	if c == nil {
		return 0
	}
	return c.feeds
}

var start = time.Now()

// now is the monotonic time since the start of the process, in nanoseconds.
func now() int64 { return int64(time.Since(start)) }
