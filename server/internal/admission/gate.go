package admission

import (
	"context"
	"fmt"
	"math"
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
	Lists                  // batches of lists
	Stream                 // streams of events
	Admin                  // the work of operators
	Other                  // calls about users, and of unknown methods
	Watch                  // streams that tell the health
	Probe                  // questions about the health, which are always taken
	Stranger               // calls that are refused for their token when their message is there
	numClasses
)

var classNames = [numClasses]string{
	"recommend", "observe", "batch", "lists", "stream", "admin", "other", "watch", "probe",
	"stranger"}

// String is the value of the label class of the metrics.
func (c Class) String() string { return classNames[c] }

// Method is how calls of a method are treated.
type Method struct {
	Class  Class
	Stream bool // has no default deadline
	Feed   bool // a stream of messages of the client: it runs from its start
}

// Reason is why a call is refused.
type Reason string

// The reasons.
const (
	Full      Reason = "limit"     // as many calls of the class as may be are under way
	Late      Reason = "deadline"  // its turn would not have come before its deadline
	Receiving Reason = "receiving" // too many messages are on their way
	Slow      Reason = "slow"      // its message took long, and others needed the room
	Idle      Reason = "idle"      // nothing came on it for long, or there are many beside it
)

var reasons = []Reason{Full, Late, Receiving, Slow, Idle}

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
	// MaxInFlight is the highest limit of the running calls of [Recommend] and of [Observe].
	// [Batch] and [Other] have an eighth of it, and [Lists] an eighth of that.
	MaxInFlight int
	// MaxStreams is the number of open streams of events.
	MaxStreams int
	// MaxWatches is the number of open streams of class [Watch].
	MaxWatches int
	// MaxReceiving is the number of calls whose message may take long to come, those of [Probe] and
	// [Watch] aside.
	MaxReceiving int
	// MaxBodies is the number of bytes of the bodies that are receiving, see [Gate.Receive].
	MaxBodies int
}

const (
	// slowAfter is the time from which on a message takes long to come, see also limiter.slow.
	slowAfter = 100 * time.Millisecond
	// burst times MaxReceiving calls may be receiving for less than that.
	burst = 8
	// maxProbes is for the calls of Probe and Watch what MaxReceiving is for the others: their
	// messages are small. Many come at once when a server starts.
	maxProbes  = 16
	probeBurst = 512
	// maxStrangers is the same for those of Stranger.
	maxStrangers = 16
	// unfair is how many times as many calls one connection may be sending as another, when there
	// is no room.
	unfair = 4
	// Lowest limits: enough for full passes, and for full commits, whatever they take.
	minLimit = 64
	minOther = 8
	// Each batch of lists has work for a processor for as long as it runs, and calls of Recommend
	// wait for its passes. A few keep the processors busy while one of them waits for the store.
	minLists = 2
	// adminLimit is the number of calls of operators.
	adminLimit = 32
)

// RefusedAtOnce is the furthest deadline of a call that is refused by its headers. The gRPC library
// forgets such a call only when its deadline has passed (400 bytes; without a deadline, at once):
// refused calls with deadlines of years would fill the memory. Those with further ones are refused
// after their message, when the library forgets them at once.
const RefusedAtOnce = 2 * time.Second

// Gate admits the calls of a server. Its methods are safe for concurrent use.
type Gate struct {
	cfg     Config
	metrics *Metrics

	mu        sync.Mutex
	receiving arrivals
	bodies    int      // bytes of them, see Grow
	leaving   int      // bytes of bodies that made room, and that are still held
	probes    arrivals // of Probe and Watch, which take no room of others
	strangers arrivals // of Stranger, which neither do
	sweeping  bool     // a sweep is due
	classes   [numClasses]class
}

// class is the state of a class.
type class struct {
	limit     limiter
	waits     bool // calls beyond the limit may wait
	receiving int
	running   int
	ending    int // of the running ones: told to end
	queue     list
	feeds     list // streams of messages that run, without those that were told to end
}

// room is the number of calls that may be under way, waiting ones included. Streams and operators
// do not wait: their calls last.
func (c *class) room() int {
	if c.waits {
		return 2 * c.limit.get()
	}
	return c.limit.get()
}

// underWay is the number of calls that take room.
func (c *class) underWay() int { return c.receiving + c.busy() + c.queue.n }

// busy is the number of running calls that take room.
func (c *class) busy() int { return c.running - c.ending }

// New returns a gate that reports to the metrics.
func New(cfg Config, metrics *Metrics) *Gate {
	g := &Gate{cfg: cfg, metrics: metrics,
		receiving: arrivals{slow: cfg.MaxReceiving, all: burst * cfg.MaxReceiving},
		probes:    arrivals{slow: maxProbes, all: probeBurst},
		strangers: arrivals{slow: maxStrangers, all: maxStrangers}}
	few := max(cfg.MaxInFlight/8, 1)
	for i, limits := range [numClasses][2]int{
		Recommend: {min(minLimit, cfg.MaxInFlight), cfg.MaxInFlight},
		Observe:   {min(minLimit, cfg.MaxInFlight), cfg.MaxInFlight},
		Batch:     {min(minOther, few), few},
		Lists:     {min(minLists, few), max(few/8, min(minLists, few))},
		Other:     {min(minOther, few), few},
		Stream:    {cfg.MaxStreams, cfg.MaxStreams},
		Admin:     {adminLimit, adminLimit},
		Watch:     {cfg.MaxWatches, cfg.MaxWatches},
		Probe:     {math.MaxInt32, math.MaxInt32}, // they take no time
		Stranger:  {math.MaxInt32, math.MaxInt32}, // nor do these
	} {
		g.classes[i].limit = newLimiter(limits[0], limits[1])
		switch Class(i) {
		case Recommend, Observe, Batch, Lists, Other:
			g.classes[i].waits = true
		}
	}
	return g
}

// Admit returns the context of a call whose headers have come, or a [RefusedError]. It takes no
// time to speak of and never waits.
func (g *Gate) Admit(ctx context.Context, method string) (context.Context, error) {
	return g.admit(ctx, g.method(method))
}

func (g *Gate) method(name string) Method {
	if m, known := g.cfg.Methods[name]; known {
		return m
	}
	return Method{Class: Other}
}

// AdmitStranger is Admit for a call that is refused for its token, but only after its message, see
// [RefusedAtOnce]. Such calls take no room of others.
func (g *Gate) AdmitStranger(ctx context.Context) context.Context {
	t, _ := g.admit(ctx, Method{Class: Stranger}) // which is never refused
	return t
}

func (g *Gate) admit(ctx context.Context, m Method) (context.Context, error) {
	t := g.newTicket(ctx, m)
	deadline, timed := ctx.Deadline()
	left := deadline.Sub(t.since)
	g.mu.Lock()
	defer g.mu.Unlock()
	if reason := g.take(t); reason != "" {
		err := g.refuse(t.of.Class, reason)
		if !timed || left <= RefusedAtOnce || g.receiving.n >= g.receiving.all {
			return ctx, err
		}
		t.refusal = err
		g.receive(t)
	}
	switch {
	case m.Feed:
		t.Context, t.cancel = context.WithCancel(ctx)
		t.stop = context.AfterFunc(t.Context, t.lost)
	case !timed && !m.Stream:
		t.Context, t.cancel = context.WithTimeout(ctx, g.cfg.DefaultTimeout)
	case left > g.cfg.MaxTimeout && m.Class != Admin && !m.Stream:
		t.Context, t.cancel = context.WithTimeout(ctx, g.cfg.MaxTimeout)
	default:
		t.Context, t.cancel = context.WithCancel(ctx)
	}
	return t, nil
}

func (g *Gate) newTicket(ctx context.Context, m Method) *Ticket {
	return &Ticket{Context: ctx, gate: g, of: m, since: time.Now(), conn: noteCall(ctx)}
}

// take counts a call that there is room for, or returns why there is none.
func (g *Gate) take(t *Ticket) Reason {
	a := g.arrivalsOf(t)
	if a.n >= a.slow {
		g.evict(a, t.since, a.slow-1)
	}
	if a != &g.receiving {
		if a.n >= a.all {
			g.end(a.victim())
		}
		g.receive(t)
		return ""
	}
	c := &g.classes[t.of.Class]
	if c.underWay() >= c.room() && !g.evictFor(t, func(o *Ticket) bool {
		return o.of.Class == t.of.Class && o.refusal == nil
	}) && !g.endFeed(t) {
		return Full
	}
	if t.of.Feed {
		c.begin(t)
		return ""
	}
	if a.n >= a.all && !g.evictFor(t, func(*Ticket) bool { return true }) {
		return Receiving
	}
	g.receive(t)
	return ""
}

// refuse counts a refusal and returns it.
func (g *Gate) refuse(c Class, why Reason) *RefusedError {
	g.metrics.refused(c, why)
	return &RefusedError{c, why}
}
