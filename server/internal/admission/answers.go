package admission

import (
	"context"
	"sync"
	"time"
)

// answers are the answers of a listener's calls that are not yet written to their connections. The
// transport keeps them until their clients read, after their calls have ended too. A connection
// with one that is not written for long is closed.
//
// Time is counted in steps of half that long: an answer is too old when two whole steps have passed
// since the one in which it was queued.
type answers struct {
	long    time.Duration
	most    int // bytes
	metrics *Metrics

	mu       sync.Mutex
	bytes    int
	step     int
	stepping bool // a step is due
	owing    map[*conn]struct{}
}

// steps is the number of steps that are told apart.
const steps = 4

// unwritten is what an open connection has not written. It is guarded by answers.
type unwritten struct {
	owing  bool       // it is listed
	queued [steps]int // answers by the step in which they were queued
	bytes  int
	wrote  int64 // when an answer was last written, or the first one queued
	// closed is set once all of it is forgotten. An answer that is queued later may never be
	// reported as gone, so it does not count.
	closed bool
}

func (u *unwritten) any() bool { return u.queued != [steps]int{} }

// stalled is the time after which a connection that writes nothing is the first to be closed for
// lack of memory.
const stalled = 100 * time.Millisecond

// callBytes is about what the transport keeps of an answered call beside the answer.
const callBytes = 4 << 10

// Answer is an answer on its way to the client. It implements the Follower of package wire.
type Answer struct {
	conn  *conn
	bytes int
	step  int
}

// Answer returns the next answer of the call, nil for a call of an unknown connection.
func (t *Ticket) Answer() *Answer {
	if t == nil || t.conn == nil {
		return nil
	}
	return &Answer{conn: t.conn}
}

// AnswerOf returns the answer of a request without a ticket whose peer is in the context, nil for
// one of an unknown connection.
func AnswerOf(ctx context.Context) *Answer {
	if c := noteCall(ctx); c != nil {
		return &Answer{conn: c}
	}
	return nil
}

// Queued is called when the answer takes memory.
func (a *Answer) Queued(bytes int) {
	all := a.conn.of.answers
	a.bytes = bytes + callBytes
	at := now()
	all.mu.Lock()
	u := &a.conn.unwritten
	if u.closed {
		all.mu.Unlock()
		return
	}
	if !u.any() {
		u.wrote = at
	}
	a.step = all.step % steps
	u.queued[a.step]++
	u.bytes += a.bytes
	all.bytes += a.bytes
	if !u.owing {
		u.owing = true
		all.owing[a.conn] = struct{}{}
		all.wait()
	}
	cut := all.beyond(at)
	all.mu.Unlock()
	all.close(cut)
}

// Left is called when a part of a queued answer is written, and bytes of it are left: its
// connection goes on.
func (a *Answer) Left(bytes int) {
	all := a.conn.of.answers
	at := now()
	all.mu.Lock()
	defer all.mu.Unlock()
	u := &a.conn.unwritten
	if u.closed {
		return
	}
	u.queued[a.step]--
	a.step = all.step % steps
	u.queued[a.step]++
	more := bytes + callBytes - a.bytes
	a.bytes += more
	u.bytes += more
	all.bytes += more
	u.wrote = at
}

// Gone is called when the answer is written, or will never be.
func (a *Answer) Gone() {
	all := a.conn.of.answers
	at := now()
	all.mu.Lock()
	defer all.mu.Unlock()
	if u := &a.conn.unwritten; !u.closed {
		u.queued[a.step]--
		u.bytes -= a.bytes
		u.wrote = at
		all.bytes -= a.bytes
	}
}

// beyond takes out what is beyond the bound, and returns its connections.
func (all *answers) beyond(at int64) (cut []*conn) {
	for all.bytes > all.most {
		c := all.worst(at)
		all.forget(c)
		cut = append(cut, c)
	}
	return cut
}

// worst is the connection with most bytes, of those that write nothing if there are any.
func (all *answers) worst(at int64) (worst *conn) {
	idle := func(c *conn) bool { return at-c.unwritten.wrote > int64(stalled) }
	for c := range all.owing {
		if c.unwritten.bytes == 0 {
			continue
		}
		if worst == nil || idle(c) && !idle(worst) ||
			idle(c) == idle(worst) && c.unwritten.bytes > worst.unwritten.bytes {
			worst = c
		}
	}
	return worst
}

// forget takes out what a connection has not written: it is closed, or about to be.
func (all *answers) forget(c *conn) {
	u := &c.unwritten
	all.bytes -= u.bytes
	u.queued, u.bytes = [steps]int{}, 0
	u.closed = true
}

// wait lets the next step begin in time.
func (all *answers) wait() {
	if !all.stepping {
		all.stepping = true
		time.AfterFunc(all.long/2, all.next)
	}
}

// next begins a step: it closes the connections with old answers.
func (all *answers) next() {
	all.mu.Lock()
	all.step++
	var cut []*conn
	for c := range all.owing {
		u := &c.unwritten
		if u.queued[(all.step+1)%steps] > 0 { // queued three steps ago
			all.forget(c)
			cut = append(cut, c)
		}
		if !u.any() {
			u.owing = false
			delete(all.owing, c)
		}
	}
	all.stepping = false
	if len(all.owing) > 0 {
		all.wait()
	}
	all.mu.Unlock()
	all.close(cut)
}

// close closes connections whose clients do not read. Their transports learn of it by their next
// read.
func (all *answers) close(cut []*conn) {
	for _, c := range cut {
		all.metrics.unread.Inc()
		_ = c.Close()
	}
}
