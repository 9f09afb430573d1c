package admission

import (
	"context"
	"sync/atomic"
	"time"
)

// Ticket is the place of a call in the server, and the context of the call. The methods of a nil
// ticket do nothing.
type Ticket struct {
	context.Context

	gate    *Gate
	of      Method
	since   time.Time // of the headers
	conn    *conn     // nil: unknown
	cancel  context.CancelFunc
	evicted atomic.Bool
	idle    atomic.Int64 // since when a feed is idle, see now

	parts [Parts]time.Duration // written by the handler of a call that is no feed

	stop func() bool // of waiting for the end of a stream without a handler

	// The rest is guarded by the gate.
	handled bool // a feed with a handler
	ending  bool // a feed that was told to end
	state   state
	refusal *RefusedError // to be told when the message is there
	body    int           // bytes, see Grow
	ended   bool          // it had to make room, and holds its body
	came    time.Duration // from the headers to the message
	began   time.Time     // of running
	turn    chan struct{} // closed when a waiting call may run
	links
}

// links lead to the neighbours in a queue.
type links struct{ prev, next *Ticket }

type state uint8

const (
	done state = iota
	receiving
	waiting
	running
)

type ticketKey struct{}

// Of returns the ticket of a call; nil if it has none.
func Of(ctx context.Context) *Ticket {
	t, _ := ctx.Value(ticketKey{}).(*Ticket)
	return t
}

// Value implements [context.Context].
func (t *Ticket) Value(key any) any {
	if key == (ticketKey{}) {
		return t
	}
	return t.Context.Value(key)
}

// Err implements [context.Context]. A call that was ended to make room is over its time:
// its client did not cancel it, and should not read so.
func (t *Ticket) Err() error {
	err := t.Context.Err()
	if err != nil && t.evicted.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// Asked reports whether the call is a stream that answers one message of the client.
func (t *Ticket) Asked() bool { return t != nil && t.of.Stream && !t.of.Feed }

// Parts is the number of parts of the work for a call whose times a ticket keeps.
const Parts = 5

// Spent adds to the time of a part of the work for a call. Only its handler calls it. The work of a
// feed has no end, and no times.
func (t *Ticket) Spent(part int, d time.Duration) {
	if t != nil && !t.of.Feed {
		t.parts[part] += d
	}
}

// Part is the time of a part of the work, once the handler has returned.
func (t *Ticket) Part(i int) time.Duration {
	if t == nil {
		return 0
	}
	return t.parts[i]
}

// Waited is the time from the message to the running of a call that has run; else 0.
func (t *Ticket) Waited() time.Duration {
	if t == nil || t.began.IsZero() {
		return 0
	}
	return max(t.began.Sub(t.since)-t.came, 0)
}

// Run is called when the message is there. It waits until the call may run, which is at once while
// its class is below its limit. The error is a [RefusedError].
func (t *Ticket) Run() error {
	if t == nil {
		return nil
	}
	g := t.gate
	g.mu.Lock()
	if t.state == running { // a stream, which its handler will end
		t.stop()
		t.handled = true
		g.mu.Unlock()
		return nil
	}
	if t.state != receiving {
		g.mu.Unlock()
		if err := t.Context.Err(); err != nil && !t.evicted.Load() {
			return err
		}
		return &RefusedError{t.of.Class, Slow} // counted when it was ended
	}
	c := &g.classes[t.of.Class]
	g.received(t)
	t.came = time.Since(t.since)
	if t.refusal != nil {
		g.mu.Unlock()
		return t.refusal
	}
	if c.busy() < c.limit.get() && c.queue.n == 0 {
		c.run(t, time.Now())
		g.mu.Unlock()
		return nil
	}
	if !c.waits {
		defer g.mu.Unlock()
		return g.refuse(t.of.Class, Full)
	}
	deadline, _ := t.Deadline()
	wait := time.Until(deadline) - c.limit.mean
	if wait <= 0 {
		defer g.mu.Unlock()
		return g.refuse(t.of.Class, Late)
	}
	t.state, t.turn = waiting, make(chan struct{})
	c.queue.push(t)
	g.mu.Unlock()
	return t.wait(wait)
}

// Forget is called in the place of Run when the message is there and the call is refused, for
// another reason than a lack of room. A stream, which runs from its start, leaves.
func (t *Ticket) Forget() {
	if t == nil {
		return
	}
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	if t.state == receiving {
		t.gate.received(t)
	}
	if t.ended {
		t.gate.leaving -= t.body
		t.ended = false
	}
	t.leave()
}

// wait waits for the turn of a call, for this long at most.
func (t *Ticket) wait(long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-t.turn:
		return nil
	case <-timer.C:
	case <-t.Context.Done():
	}
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.state != waiting { // its turn came meanwhile
		return nil
	}
	g.classes[t.of.Class].queue.remove(t)
	t.state = done
	return g.refuse(t.of.Class, Late)
}

// run counts a call as running.
func (c *class) run(t *Ticket, now time.Time) {
	t.state, t.began = running, now
	c.running++
	c.limit.started(c.underWay())
}

// lost gives the room of a stream back that ended before it got to its handler. A handler keeps it
// until it returns, whatever its client does.
func (t *Ticket) lost() {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	if !t.handled {
		t.leave()
	}
}

// Leave is called when the call is answered; further calls do nothing.
func (t *Ticket) Leave() {
	if t == nil {
		return
	}
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	t.leave()
}

// leave gives the room of a running call to the calls that wait for it.
func (t *Ticket) leave() {
	if t.state != running {
		return
	}
	t.state = done
	c := &t.gate.classes[t.of.Class]
	c.running--
	if t.of.Feed {
		c.ended(t)
	}
	now := time.Now()
	if !t.began.IsZero() {
		c.limit.finished(now, t.came, now.Sub(t.began))
	}
	for c.queue.n > 0 && c.busy() < c.limit.get() {
		next := c.queue.first
		c.queue.remove(next)
		c.run(next, now)
		close(next.turn)
	}
}

// list is a list of tickets, the oldest first. A ticket is in one list at most.
type list struct {
	first, last *Ticket
	n           int
}

func (l *list) push(t *Ticket) {
	t.prev, t.next = l.last, nil
	if l.last == nil {
		l.first = t
	} else {
		l.last.next = t
	}
	l.last = t
	l.n++
}

func (l *list) remove(t *Ticket) {
	if t.prev == nil {
		l.first = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.last = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
	l.n--
}
