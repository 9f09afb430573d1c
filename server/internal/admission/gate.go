package admission

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Class is a kind of calls that share a limit.
type Class uint8

// The classes.
const (
	Recommend Class = iota // lists
	Observe                // single events
	Batch                  // batches of events
	Stream                 // streams of events
	Admin                  // the work of operators
	Other                  // calls about users, and of unknown methods
	numClasses

	// Probe is the class of calls that are always taken.
	Probe Class = numClasses
)

var classNames = [numClasses]string{"recommend", "observe", "batch", "stream", "admin", "other"}

// String is the value of the label class of the metrics.
func (c Class) String() string { return classNames[c] }

// Method is how calls of a method are treated.
type Method struct {
	Class  Class
	Stream bool // runs from its start, has no default deadline
}

// Reason is why a call is refused.
type Reason string

// The reasons.
const (
	Full      Reason = "limit"     // as many calls of the class as may be are under way
	Late      Reason = "deadline"  // its turn would not have come before its deadline
	Receiving Reason = "receiving" // too many messages are on their way
	Slow      Reason = "slow"      // its message took long, and others needed the room
)

var reasons = []Reason{Full, Late, Receiving, Slow}

// RefusedError is the error of a call that the server has no room for. Nothing of it was done.
type RefusedError struct {
	Class  Class
	Reason Reason
}

// Error names the class and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("admission: no room for a call of class %s: %s", e.Class, e.Reason)
}

// Config are the bounds of a gate.
type Config struct {
	// Methods by their full names; the others are of class [Other].
	Methods map[string]Method
	// DefaultTimeout is the deadline of a call without one, and MaxTimeout the furthest that a call
	// may have, both from its headers. Streams have none, and those of operators none that is too
	// far.
	DefaultTimeout, MaxTimeout time.Duration
	// MaxInFlight is the highest limit of the running calls of [Recommend] and of [Observe]; the
	// others have an eighth of it.
	MaxInFlight int
	// MaxStreams is the number of open streams of events.
	MaxStreams int
	// MaxReceiving is the number of calls whose message may take long to come.
	MaxReceiving int
}

const (
	// slowAfter is the time from which on a message takes long to come, see also limiter.slow.
	slowAfter = 100 * time.Millisecond
	// burst times MaxReceiving calls may be receiving for less than that.
	burst = 8
	// unfair is how many times as many calls one connection may be sending as another, when there
	// is no room.
	unfair = 4
	// Lowest limits: enough for full passes, and for full commits, whatever they take.
	minLimit = 64
	minOther = 8
	// adminLimit is the number of calls of operators.
	adminLimit = 32
	// forgottenWithin is the furthest deadline of a call that is refused by its headers. The gRPC
	// library forgets such a call only at its deadline. Those with further ones are refused after
	// their message, when it forgets them at once.
	forgottenWithin = 10 * time.Second
)

// Gate admits the calls of a server. Its methods are safe for concurrent use.
type Gate struct {
	cfg     Config
	metrics *Metrics

	mu        sync.Mutex
	receiving list
	sweeping  bool // a sweep is due
	classes   [numClasses]class
}

// class is the state of a class.
type class struct {
	limit     limiter
	waits     bool // calls beyond the limit may wait
	receiving int
	running   int
	queue     list
}

// room is the number of calls that may be under way, waiting ones included. Streams and operators
// do not wait: their calls last.
func (c *class) room() int {
	if c.waits {
		return 2 * c.limit.get()
	}
	return c.limit.get()
}

func (c *class) underWay() int { return c.receiving + c.running + c.queue.n }

// New returns a gate that reports to the metrics.
func New(cfg Config, metrics *Metrics) *Gate {
	g := &Gate{cfg: cfg, metrics: metrics}
	few := max(cfg.MaxInFlight/8, 1)
	for i, limits := range [numClasses][2]int{
		Recommend: {min(minLimit, cfg.MaxInFlight), cfg.MaxInFlight},
		Observe:   {min(minLimit, cfg.MaxInFlight), cfg.MaxInFlight},
		Batch:     {min(minOther, few), few},
		Other:     {min(minOther, few), few},
		Stream:    {cfg.MaxStreams, cfg.MaxStreams},
		Admin:     {adminLimit, adminLimit},
	} {
		g.classes[i].limit = newLimiter(limits[0], limits[1])
		g.classes[i].waits = Class(i) != Stream && Class(i) != Admin
	}
	return g
}

// Admit returns the context of a call whose headers have come, or a [RefusedError]. It takes no
// time to speak of and never waits.
func (g *Gate) Admit(ctx context.Context, method string) (context.Context, error) {
	m, known := g.cfg.Methods[method]
	if !known {
		m = Method{Class: Other}
	}
	if m.Class == Probe {
		return ctx, nil
	}
	t := &Ticket{Context: ctx, gate: g, class: m.Class, since: time.Now(), conn: noteCall(ctx)}
	deadline, timed := ctx.Deadline()
	left := deadline.Sub(t.since)
	g.mu.Lock()
	defer g.mu.Unlock()
	if reason := g.take(t, m.Stream); reason != "" {
		err := g.refuse(t.class, reason)
		if !timed || left <= forgottenWithin || g.receiving.n >= burst*g.cfg.MaxReceiving {
			return ctx, err
		}
		t.refusal = err
		g.receive(t)
	}
	switch {
	case m.Stream:
		t.Context, t.cancel = context.WithCancel(ctx)
		context.AfterFunc(t.Context, t.Leave) // if it never gets to its handler
	case !timed:
		t.Context, t.cancel = context.WithTimeout(ctx, g.cfg.DefaultTimeout)
	case left > g.cfg.MaxTimeout && m.Class != Admin:
		t.Context, t.cancel = context.WithTimeout(ctx, g.cfg.MaxTimeout)
	default:
		t.Context, t.cancel = context.WithCancel(ctx)
	}
	return t, nil
}

// take counts a call that there is room for, or returns why there is none.
func (g *Gate) take(t *Ticket, stream bool) Reason {
	c := &g.classes[t.class]
	if g.receiving.n >= g.cfg.MaxReceiving {
		g.evict(t.since, g.cfg.MaxReceiving-1)
	}
	if c.underWay() >= c.room() && !g.evictFor(t, func(o *Ticket) bool {
		return o.class == t.class
	}) {
		return Full
	}
	if stream {
		c.running++
		t.state = running
		return ""
	}
	if g.receiving.n >= burst*g.cfg.MaxReceiving &&
		!g.evictFor(t, func(*Ticket) bool { return true }) {
		return Receiving
	}
	g.receive(t)
	return ""
}

// receive lists a call among those whose message is on its way.
func (g *Gate) receive(t *Ticket) {
	t.state = receiving
	g.receiving.push(t)
	if t.refusal == nil {
		g.classes[t.class].receiving++
		t.conn.add(1)
	}
	if g.receiving.n > g.cfg.MaxReceiving && !g.sweeping {
		g.sweeping = true
		time.AfterFunc(slowAfter, g.sweep)
	}
}

// received takes a call out of that list.
func (g *Gate) received(t *Ticket) {
	g.receiving.remove(t)
	if t.refusal == nil {
		g.classes[t.class].receiving--
		t.conn.add(-1)
	}
	t.state = done
}

// sweep ends the calls that are beyond the bound, although no newcomer asks for their room.
func (g *Gate) sweep() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sweeping = false
	g.evict(time.Now(), g.cfg.MaxReceiving)
	if g.receiving.n > g.cfg.MaxReceiving {
		g.sweeping = true
		time.AfterFunc(slowAfter/4, g.sweep)
	}
}

// evict ends the receiving calls that are slow, the oldest first, until n are left.
func (g *Gate) evict(now time.Time, n int) {
	for g.receiving.n > n && g.slow(g.receiving.first, now) {
		g.end(g.receiving.first)
	}
}

// slow reports whether the message of a call is slow to come.
func (g *Gate) slow(t *Ticket, now time.Time) bool {
	return g.classes[t.class].limit.slow(now.Sub(t.since))
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

// end takes the room of a receiving call away.
func (g *Gate) end(t *Ticket) {
	g.received(t)
	if t.Context.Err() == nil { // otherwise the client has gone, or its time is over
		t.evicted.Store(true)
		t.cancel()
		g.metrics.refused(t.class, Slow)
	}
}

// refuse counts a refusal and returns it.
func (g *Gate) refuse(c Class, why Reason) *RefusedError {
	g.metrics.refused(c, why)
	return &RefusedError{c, why}
}
