package server

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/gsimc/gsimc/model"
)

// maxPass is how many requests share one pass over a basis. Beyond it a pass gains little and those who wait wait longer.
const maxPass = 16

// batcher lets concurrent requests share passes over the basis. There are as many passes at a time as processors. Who finds
// one free has it alone and at once. The others queue, and whoever ends a pass hands it to the first in the queue, who takes
// all that wait for the same model along, up to maxPass. So nobody waits while a processor could work for them, and the
// passes grow with the load. Batches have no timer and no goroutine of their own.
//
// The lock guards the queue alone. It is not held during a pass.
type batcher struct {
	metrics batchMetrics

	mu      sync.Mutex
	idle    []*pass    // not under way
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
	err   error        // why there is no answer
	turn  chan *pass   // gets the pass to do, or nil if the call is settled
}

func newTopCall() *topCall { return &topCall{turn: make(chan *pass, 1)} }

func newBatcher(m batchMetrics) *batcher {
	b := &batcher{metrics: m}
	for range runtime.GOMAXPROCS(0) {
		b.idle = append(b.idle, &pass{})
	}
	return b
}

// topN stores the answer to c.TopNRequest in c.Top. A call that waits until its context has ended gets the context's error.
// If the pass panics, its calls fail with errPanic, and the panic goes on in one of them.
func (b *batcher) topN(c *topCall) error {
	p := b.enter(c)
	if p == nil {
		queued := time.Now()
		p = <-c.turn
		b.metrics.wait.Observe(time.Since(queued).Seconds())
	} else {
		b.metrics.wait.Observe(0)
	}
	if p == nil {
		return c.err
	}
	b.do(p)
	return nil
}

// enter returns a pass for c alone, or queues c and returns nil.
func (b *batcher) enter(c *topCall) *pass {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.idle) - 1
	if last < 0 {
		b.waiting = append(b.waiting, c)
		return nil
	}
	p := b.idle[last]
	b.idle = b.idle[:last]
	p.calls = append(p.calls, c)
	return p
}

// do answers the calls of p and passes p on.
func (b *batcher) do(p *pass) {
	outcome := errPanic
	defer func() { b.done(p, outcome) }()
	b.metrics.size.Observe(float64(len(p.calls)))
	for _, c := range p.calls {
		p.requests = append(p.requests, c.TopNRequest)
	}
	p.calls[0].model.TopNBatch(p.requests)
	for i, c := range p.calls {
		c.Top = p.requests[i].Top
	}
	outcome = nil
}

// done settles the calls of p but for the first, whose goroutine this is, and hands p to those who wait.
func (b *batcher) done(p *pass, outcome error) {
	for _, c := range p.calls[1:] {
		c.settle(outcome)
	}
	clear(p.calls) // which may be used for other requests from now on
	clear(p.requests)
	p.calls, p.requests = p.calls[:0], p.requests[:0]
	if first := b.next(p); first != nil {
		first.turn <- p
	}
}

// next fills p with the first call in the queue and those behind it that want the same model, and returns the first. If
// nobody waits, p is idle and the answer nil. Calls that nobody waits for any more are settled on the way.
func (b *batcher) next(p *pass) (first *topCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.waiting[:0]
	for _, c := range b.waiting {
		switch err := c.ctx.Err(); {
		case err != nil:
			c.settle(err)
		case len(p.calls) < maxPass && (first == nil || c.model == first.model):
			p.calls = append(p.calls, c)
			first = p.calls[0]
		default:
			kept = append(kept, c)
		}
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
	if first == nil {
		b.idle = append(b.idle, p)
	}
	return first
}

// settle ends the waiting of c. Its goroutine may use c again at once.
func (c *topCall) settle(err error) {
	c.err = err
	c.turn <- nil
}
