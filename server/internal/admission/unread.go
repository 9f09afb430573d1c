package admission

import (
	"slices"
	"time"
)

// The answers that clients do not read stay in the memory of the transport, one for each call that
// a connection may have, and nothing ends them but the connection. So each connection has a debt:
// the bytes that its answers take on the wire at least, less what was written to it. What a client
// reads is written at once. A debt that stays is of answers that wait for the client.
const (
	// maxUnread is the memory, in bytes, of the answers that wait on all connections of a listener.
	maxUnread = 64 << 20
	// unreadFor is how long answers wait until they count as not read.
	unreadFor = 250 * time.Millisecond
	// leastFrames are the bytes that the frames of an answer take at least, beside its message:
	// three heads of 9, the prefix of 5, and two fields for each block of headers.
	leastFrames = 3*9 + 5 + 2*2
	// leastWaiting is what is left of them while an answer waits: its first headers are written.
	leastWaiting = leastFrames - 9 - 2
	// heldByAnswer is the memory that an answer without a message takes while it waits.
	heldByAnswer = 4 << 10
	// maxWaiting bounds the answers that a debt is taken for: connections have about this many
	// calls.
	maxWaiting = 128
)

// Answers notes that the call is about to be answered by a message of this size.
func (t *Ticket) Answers(bytes int) {
	// A call that was given up is answered by nothing.
	if t == nil || t.conn == nil || t.Context.Err() != nil {
		return
	}
	t.conn.debt.Add(int64(bytes + leastFrames))
	t.conn.of.sweepUnread(now())
}

// pay takes written bytes off the debt.
func (c *conn) pay(n int64) {
	for {
		debt := c.debt.Load()
		left := max(debt-n, 0)
		if c.debt.CompareAndSwap(debt, left) {
			for low := c.low.Load(); left < low && !c.low.CompareAndSwap(low, left); {
				low = c.low.Load()
			}
			return
		}
	}
}

// held is the memory of the answers that have waited since the last sweep.
func (c *conn) held() int64 {
	debt := c.low.Load()
	return debt + heldByAnswer*min(debt/leastWaiting, maxWaiting)
}

// sweepUnread closes connections, those with most unread answers first, when the answers that wait
// on all of them take too much memory. It looks once in unreadFor.
func (l *Listener) sweepUnread(now int64) {
	last := l.swept.Load()
	if now-last < int64(unreadFor) || !l.swept.CompareAndSwap(last, now) {
		return
	}
	for _, c := range l.unread() {
		l.metrics.unread.Inc()
		_ = c.Close() // its owner learns of it by its next read
	}
}

// unread returns the connections to be closed, and begins the next interval.
func (l *Listener) unread() (victims []*conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	type debtor struct {
		*conn
		held int64
	}
	var debtors []debtor
	var sum int64
	for c := range l.open {
		if held := c.held(); held > 0 {
			debtors = append(debtors, debtor{c, held})
			sum += held
		}
		c.low.Store(c.debt.Load())
	}
	if sum <= maxUnread {
		return nil
	}
	slices.SortFunc(debtors, func(a, b debtor) int { return int(b.held - a.held) })
	for _, d := range debtors {
		if sum <= maxUnread/2 { // so that it is not the same again at once
			break
		}
		sum -= d.held
		victims = append(victims, d.conn)
	}
	return victims
}
