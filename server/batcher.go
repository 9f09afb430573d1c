package server

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gsimc/gsimc/model"
)

// maxPass is how many requests share one pass over a basis. Beyond it a pass gains little and those who wait wait longer.
const maxPass = 16

// batcher lets concurrent requests share passes over the basis. There are half as many passes at a time as processors, since each
// can use a share of the caches and of the memory's bandwidth only, and the other half has the network to serve; but two where there
// are two processors, since all would wait for the only pass whenever the system gives its processor to somebody else. Who finds a
// pass free has it at once; the others queue. Whoever begins a pass takes along those in the queue that want the same model, up to
// maxPass, and whoever ends one hands it to the first in the queue. So nobody waits while a pass is free, a wait ends with the
// passes under way unless more than maxPass are before it, and the passes grow with the load. There is no timer and no goroutine.
//
// When other requests are about, those who begin a pass let everything run first that can run: the handlers among it join the
// pass. Without that, passes would keep the processors busy, and the requests to share them with would come in after each.
//
// The lock guards the queue alone and is not held during a pass.
type batcher struct {
	metrics batchMetrics

	mu      sync.Mutex
	passes  int        // all of them
	idle    []*pass    // those not under way
	shared  bool       // the last pass answered several requests
	waiting []*topCall // first come first; empty while any pass is idle
}

// pass is the memory of one pass over a basis.
type pass struct {
	calls    []*topCall // that it answers; the first of them is the one that does the work
	requests []model.TopNRequest
}

// topCall is one request on its way through the batcher. It belongs to a scratch and is used again and again.
type topCall struct {
	model.TopNRequest
	ctx   context.Context
	model *model.Model // that the caller holds a lease of
	alone func()       // if not nil, what stores the answer, in a pass that is not shared
	err   error        // why there is no answer
	turn  chan *pass   // gets the pass to do, or nil if the call is settled
}

func newTopCall() *topCall { return &topCall{turn: make(chan *pass, 1)} }

func newBatcher(m batchMetrics) *batcher {
	processors := runtime.GOMAXPROCS(0)
	b := &batcher{metrics: m, passes: min(processors, max(2, (processors+1)/2))}
	for range b.passes {
		b.idle = append(b.idle, &pass{})
	}
	return b
}

// topN stores the answer to c.TopNRequest in c.Top, or lets c.alone do it. A call that waits until its context has ended gets
// the context's error. If the pass panics, its calls fail with errPanic, and the panic goes on in the one that did the work.
func (b *batcher) topN(c *topCall) error {
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

// enter returns a pass for c to begin, or queues c and returns nil. crowded: there are other requests about.
func (b *batcher) enter(c *topCall) (p *pass, crowded bool) {
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

// do answers c, and those who wait, in one pass, and passes p on.
func (b *batcher) do(p *pass, c *topCall, crowded bool) {
	outcome := errPanic
	defer func() { b.done(p, outcome) }()
	p.calls = append(p.calls, c)
	if c.alone != nil {
		c.alone()
		outcome = nil
		return
	}
	if crowded {
		runtime.Gosched()
		b.gather(p)
	}
	b.metrics.size.Observe(float64(len(p.calls)))
	for _, c := range p.calls {
		p.requests = append(p.requests, c.TopNRequest)
	}
	c.model.TopNBatch(p.requests)
	for i, c := range p.calls {
		c.Top = p.requests[i].Top
	}
	outcome = nil
}

// gather moves those from the queue to p that want the model of its first call. Calls that nobody waits for any more are
// settled on the way.
func (b *batcher) gather(p *pass) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.waiting[:0]
	for _, c := range b.waiting {
		switch err := c.ctx.Err(); {
		case err != nil:
			c.settle(err)
		case len(p.calls) < maxPass && c.model == p.calls[0].model && c.alone == nil:
			p.calls = append(p.calls, c)
		default:
			kept = append(kept, c)
		}
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
	b.shared = len(p.calls) > 1
}

// done settles the calls of p but for the first, whose goroutine this is, and hands p to the first in the queue that still waits.
func (b *batcher) done(p *pass, outcome error) {
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
		err := first.ctx.Err()
		if err == nil {
			first.turn <- p
			return
		}
		first.settle(err)
	}
	b.idle = append(b.idle, p)
}

// settle ends the waiting of c. Its goroutine may use c again at once.
func (c *topCall) settle(err error) {
	c.err = err
	c.turn <- nil
}
