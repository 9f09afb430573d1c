package admission

import (
	"context"
	"time"
)

// SmallBody is the number of bytes up to which a body never makes room for others, nor waits behind
// them.
const SmallBody = 64 << 10

// Receive is [Gate.Admit] for a request of HTTP without gRPC. Such a request is always refused by
// its headers, whatever its deadline. The body has to come before the deadline of ctx. When the
// body has become a message, [Ticket.Forget] gives its room back, and the call with that message
// is admitted like any other.
func (g *Gate) Receive(ctx context.Context, method string) (*Ticket, error) {
	t := g.newTicket(ctx, g.method(method))
	g.mu.Lock()
	defer g.mu.Unlock()
	if reason := g.take(t); reason != "" {
		return nil, g.refuse(t.of.Class, reason)
	}
	t.Context, t.cancel = context.WithCancel(ctx)
	return t, nil
}

// Grow is called before the body of a request takes n bytes more. If all bodies would take more
// than they may, the slow ones that are large make room, the oldest first. The error is a
// [RefusedError]: that was not enough, or the request itself had to make room.
func (t *Ticket) Grow(n int) error {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.state != receiving {
		return &RefusedError{t.of.Class, Slow} // counted when it was ended
	}
	if t.body+n > SmallBody && !g.bodyRoom(t, n) {
		return g.refuse(t.of.Class, Receiving)
	}
	t.body += n
	g.bodies += n
	return nil
}

// Crowded returns the error of a request that had to make room, or that waited in vain for it.
func (t *Ticket) Crowded() error { return t.gate.refuse(t.of.Class, Receiving) }

// bodyRoom makes room for n bytes more of a request, and reports whether there is any. Bodies that
// made room are held until their requests run again, which takes a while on a busy machine: they
// take half as much as the others at most.
func (g *Gate) bodyRoom(of *Ticket, n int) bool {
	if g.bodies+g.leaving+n > g.cfg.MaxBodies*3/2 {
		return false
	}
	now := time.Now()
	for t := g.receiving.first; t != nil && g.bodies+n > g.cfg.MaxBodies; {
		next := t.next
		if t != of && t.body > SmallBody && g.slow(t, now) {
			g.end(t)
		}
		t = next
	}
	return g.bodies+n <= g.cfg.MaxBodies
}
