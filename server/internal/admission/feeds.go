package admission

import (
	"context"
	"time"
)

const (
	// idleAfter is the time after which a stream that nothing comes on may have to make room.
	idleAfter = time.Second
	// working is the time since which a stream is idle that is not.
	working = 1 << 62
	// ending is the part of a limit, one by this, that may run beside it: streams that were told to
	// end and whose handlers have not returned.
	ending = 4
)

// A feed is a stream of messages of the client. It is idle while the server waits for a message and
// has nothing left to do for those that came.

// Working notes that a message of a stream has come.
func (t *Ticket) Working() {
	if t != nil {
		t.idle.Store(working)
	}
}

// Idle notes that the server waits for a message of a stream and has nothing else to do for it.
func (t *Ticket) Idle() {
	if t != nil {
		t.idle.Store(now())
	}
}

// Evicted reports whether the call was ended to make room.
func (t *Ticket) Evicted() bool { return t != nil && t.evicted.Load() }

// WhileRoom returns the context of the handler of a stream, which ends when others need its room.
// The context of the call itself does not: the library would tell the client its own reason.
func (t *Ticket) WhileRoom(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	if t != nil {
		t.gate.mu.Lock()
		defer t.gate.mu.Unlock()
		t.cancel = cancel
		if t.ending {
			cancel()
		}
	}
	return ctx, cancel
}

// begin counts a stream of messages as running.
func (c *class) begin(t *Ticket) {
	t.state = running
	t.Idle()
	c.running++
	c.feeds.push(t)
	t.conn.feed(1)
}

// endFeed ends the stream of a newcomer's class that has been idle for longest. If none has been
// for idleAfter, it ends one of the connection with most streams, if it has far more than that of
// the newcomer. It reports whether there was one. The handler of the stream counts until it
// returns, beside the limit.
func (g *Gate) endFeed(newcomer *Ticket) bool {
	c := &g.classes[newcomer.of.Class]
	if c.ending >= max(c.room()/ending, 1) {
		return false
	}
	var idlest, greedy *Ticket
	share := unfair * (newcomer.conn.streams() + 1)
	for t := c.feeds.first; t != nil; t = t.next {
		if idlest == nil || t.idle.Load() < idlest.idle.Load() {
			idlest = t
		}
		if n := t.conn.streams(); n > share && (greedy == nil || n > greedy.conn.streams()) {
			greedy = t
		}
	}
	victim := greedy
	if idlest != nil && now()-idlest.idle.Load() >= int64(idleAfter) {
		victim = idlest
	}
	if victim == nil {
		return false
	}
	c.unlist(victim)
	victim.ending = true
	c.ending++
	victim.evicted.Store(true)
	victim.cancel()
	g.metrics.refused(victim.of.Class, Idle)
	return true
}

// ended takes note of the end of a stream of messages.
func (c *class) ended(t *Ticket) {
	if t.ending {
		c.ending--
	} else {
		c.unlist(t)
	}
}

func (c *class) unlist(t *Ticket) {
	c.feeds.remove(t)
	t.conn.feed(-1)
}
