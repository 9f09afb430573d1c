package admission

import "time"

// arrivals are calls whose message is on its way, the oldest first.
type arrivals struct {
	list
	slow int // the number of those that may take long
	all  int // the number of those that may be there, slow or not
}

// arrivalsOf returns the list that a call is in while its message is on its way.
func (g *Gate) arrivalsOf(t *Ticket) *arrivals {
	switch t.of.Class {
	case Probe, Watch:
		return &g.probes
	case Stranger:
		return &g.strangers
	}
	return &g.receiving
}

// receive lists a call among those whose message is on its way.
func (g *Gate) receive(t *Ticket) {
	t.state = receiving
	g.arrivalsOf(t).push(t)
	t.conn.add(1)
	if t.refusal == nil {
		g.classes[t.of.Class].receiving++
	}
	if !g.sweeping {
		g.sweeping = true
		time.AfterFunc(slowAfter, g.sweep)
	}
}

// received takes a call out of that list.
func (g *Gate) received(t *Ticket) {
	g.arrivalsOf(t).remove(t)
	t.conn.add(-1)
	if t.refusal == nil {
		g.classes[t.of.Class].receiving--
	}
	g.bodies -= t.body
	t.state = done
}

// sweep takes out the calls that have ended before their message came, and ends those that are
// beyond the bound, although no newcomer asks for their room. It comes again while there are calls.
func (g *Gate) sweep() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, next := time.Now(), slowAfter
	for _, a := range []*arrivals{&g.receiving, &g.probes, &g.strangers} {
		for t := a.first; t != nil; {
			after := t.next
			if t.Context.Err() != nil {
				g.end(t)
			}
			t = after
		}
		g.evict(a, now, a.slow)
		if a.n > a.slow {
			next = slowAfter / 4
		}
	}
	if g.sweeping = g.receiving.n+g.probes.n+g.strangers.n > 0; g.sweeping {
		time.AfterFunc(next, g.sweep)
	}
}

// evict ends the calls that are slow, the oldest first, until n are left.
func (g *Gate) evict(a *arrivals, now time.Time, n int) {
	for a.n > n && g.slow(a.first, now) {
		g.end(a.first)
	}
}

// slow reports whether the message of a call is slow to come.
func (g *Gate) slow(t *Ticket, now time.Time) bool {
	return g.classes[t.of.Class].limit.slow(now.Sub(t.since))
}

// evictFor ends the oldest receiving call of some that is slow, or whose connection has far more of
// them than that of the newcomer. It reports whether there was one.
func (g *Gate) evictFor(newcomer *Ticket, some func(*Ticket) bool) bool {
	share := unfair * (newcomer.conn.receives() + 1)
	for t := g.receiving.first; t != nil; t = t.next {
		if some(t) && (g.slow(t, newcomer.since) || t.conn.receives() > share) {
			g.end(t)
			return true
		}
	}
	return false
}

// victim is the oldest call of a connection that has most of them.
func (a *arrivals) victim() *Ticket {
	worst := a.first
	for t := a.first; t != nil; t = t.next {
		if t.conn.receives() > worst.conn.receives() {
			worst = t
		}
	}
	return worst
}

// end takes the room of a receiving call away.
func (g *Gate) end(t *Ticket) {
	g.received(t)
	g.leaving += t.body
	t.ended = true
	if t.Context.Err() == nil { // otherwise the client has gone, or its time is over
		t.evicted.Store(true)
		t.cancel()
		g.metrics.refused(t.of.Class, Slow)
	}
}
