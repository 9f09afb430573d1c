// Package passes lets concurrent requests share passes over the basis of a model.
//
// A pass reads the whole basis, which is far larger than the caches, so a pass that answers several
// requests costs little more than one that answers a single one.
package passes

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
)

// MaxCalls is the largest number of calls that share one pass. Beyond it a pass gains little, and
// its calls wait longer.
const MaxCalls = 16

// ErrPanic is the outcome of a call that shared a pass which panicked.
var ErrPanic = errors.New("server: panic in a pass over the basis")

// A Batcher answers calls in passes. It is safe for concurrent use.
//
// The number of concurrent passes is half that of the processors: a pass uses only a share of the
// caches and of the memory's bandwidth, and the other half has the network to serve. With two
// processors there are two passes, since all calls would wait for the only one whenever the system
// takes its processor away.
//
// A call that finds an idle pass takes it at once; the others queue. A call that begins a pass
// takes along the queued calls for the same model, up to [MaxCalls]. When a pass ends it goes to
// the first call in the queue. So no call waits while a pass is idle, and a wait ends with the
// passes under way unless more than [MaxCalls] calls are ahead. The passes grow with the load.
// There is no timer and no goroutine.
//
// Under concurrent load, a call that begins a pass yields its processor first, so that the handlers
// that are ready to run can join the pass. Without the yield, passes would keep the processors busy
// and the calls to share them with would arrive just after each.
type Batcher struct {
	metrics *Metrics

	mu      sync.Mutex // guards the queue; it is not held during a pass
	passes  int        // all of them
	idle    []*pass    // those not under way
	shared  bool       // the last pass answered several calls
	waiting []*Call    // first come first; empty while any pass is idle
}

// pass is the memory of one pass over a basis.
type pass struct {
	calls    []*Call // answered by this pass; the goroutine of the first does the work
	requests []ranking.Request
}

// A Call is one request on its way through a [Batcher]. It may be used for many requests, one after
// the other.
type Call struct {
	ranking.Request
	Context context.Context // a call whose context ends while it waits gets the context's error
	Model   *model.Model    // must stay open until TopN returns
	Alone   func()          // if not nil, stores the answer, in a pass that is not shared

	err  error      // why there is no answer
	turn chan *pass // gets the pass to do, or nil if the call is settled
}

// NewCall returns a call without a request.
func NewCall() *Call { return &Call{turn: make(chan *pass, 1)} }

// SetQuery makes q the query of the call. The call shares its memory.
func (c *Call) SetQuery(q *model.Query) { c.Query, c.Boosts = q.Spectrum, q.Boosts }

// Reset forgets the request and keeps the memory of its answer.
func (c *Call) Reset() {
	c.Context, c.Model, c.Alone, c.err = nil, nil, nil, nil
	c.Request = ranking.Request{Top: c.Top[:0]}
}

// New returns a batcher with a number of passes that suits the processors.
func New(m *Metrics) *Batcher {
	processors := runtime.GOMAXPROCS(0)
	b := &Batcher{metrics: m, passes: min(processors, max(2, (processors+1)/2))}
	for range b.passes {
		b.idle = append(b.idle, &pass{})
	}
	return b
}

// TopN stores the answer to c.Request in c.Top, or lets c.Alone do it. It returns the error of
// c.Context if that ends before the pass begins. If the pass panics, its calls fail with
// [ErrPanic], and the panic goes on in the call that did the work.
func (b *Batcher) TopN(c *Call) error {
	p, crowded := b.enter(c)
	if p != nil {
		b.metrics.wait.Observe(0)
	} else {
		queued := time.Now()
		p = <-c.turn
		b.metrics.wait.Observe(time.Since(queued).Seconds())
	}
	if p == nil {
		return c.err
	}
	b.do(p, c, crowded)
	return nil
}

// enter returns a pass for c to begin, or queues c and returns nil. crowded reports whether other
// calls are about.
func (b *Batcher) enter(c *Call) (p *pass, crowded bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.idle) - 1
	if last < 0 {
		b.waiting = append(b.waiting, c)
		return nil, true
	}
	p = b.idle[last]
	b.idle = b.idle[:last]
	return p, b.shared || last+1 < b.passes
}

// do answers c and the queued calls that can share its pass, and passes p on.
func (b *Batcher) do(p *pass, c *Call, crowded bool) {
	outcome := ErrPanic
	defer func() { b.done(p, outcome) }()
	p.calls = append(p.calls, c)
	if c.Alone != nil {
		c.Alone()
		outcome = nil
		return
	}
	if crowded {
		runtime.Gosched()
		b.gather(p)
	}
	b.metrics.size.Observe(float64(len(p.calls)))
	for _, c := range p.calls {
		p.requests = append(p.requests, c.Request)
	}
	c.Model.TopNBatch(p.requests)
	for i, c := range p.calls {
		c.Top = p.requests[i].Top
	}
	outcome = nil
}

// gather moves the queued calls for the model of p's first call to p. Calls whose context has ended
// are settled on the way.
func (b *Batcher) gather(p *pass) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.waiting[:0]
	for _, c := range b.waiting {
		switch err := c.Context.Err(); {
		case err != nil:
			c.settle(err)
		case len(p.calls) < MaxCalls && c.Model == p.calls[0].Model && c.Alone == nil:
			p.calls = append(p.calls, c)
		default:
			kept = append(kept, c)
		}
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
	b.shared = len(p.calls) > 1
}

// done settles the calls of p except the first, whose goroutine this is, and hands p to the first
// call in the queue whose context has not ended.
func (b *Batcher) done(p *pass, outcome error) {
	for _, c := range p.calls[1:] {
		c.settle(outcome)
	}
	clear(p.calls) // which may be used for other requests from now on
	clear(p.requests)
	p.calls, p.requests = p.calls[:0], p.requests[:0]
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.waiting) > 0 {
		first := b.waiting[0]
		b.waiting = slices.Delete(b.waiting, 0, 1)
		err := first.Context.Err()
		if err == nil {
			first.turn <- p
			return
		}
		first.settle(err)
	}
	b.idle = append(b.idle, p)
}

// settle ends the waiting of c. Its goroutine may use c again at once.
func (c *Call) settle(err error) {
	c.err = err
	c.turn <- nil
}
