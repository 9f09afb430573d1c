package client

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/gsimc/gsimc/internal/fault"
)

// Hedge says when a call that has no answer yet is sent to a second server, too. The first answer
// counts and the other call is cancelled. Only calls without side effects are hedged.
type Hedge struct {
	// Quantile of the method's latest latencies after which the second call is sent, from 0.5 to
	// below 1, such as 0.95. 0: no call is hedged.
	Quantile float64
	// Budget is the largest share of calls that is hedged, above 0 and at most 1, such as 0.02:
	// when all servers are slow, hedging must not double their load.
	Budget float64
}

const (
	hedgeMemory = 256 // latencies of a method that are remembered
	hedgeLeast  = 32  // latencies without which no call is hedged
	hedgeBurst  = 10  // calls that may be hedged one after the other, when few were before
)

// A hedger sends calls twice.
type hedger struct {
	Hedge

	mu      sync.Mutex
	savings float64 // calls that may be hedged at present
	methods map[string]*latencies
}

// latencies are the latest ones of a method.
type latencies struct {
	ring  []time.Duration
	next  int           // place in ring of the next one, once it is full
	wait  time.Duration // the quantile, as of its last computation; 0: too few latencies so far
	since int           // latencies since then
	twice bool          // a call may run twice
}

// newHedger returns nil if calls are not to be hedged. The error is a [fault.Fault] of the field
// Quantile or Budget.
func newHedger(h Hedge) (*hedger, error) {
	switch {
	case h == (Hedge{}):
		return nil, nil
	case !(h.Quantile >= 0.5 && h.Quantile < 1):
		return nil, fault.New("Quantile", h.Quantile, "from 0.5 to below 1")
	case !(h.Budget > 0 && h.Budget <= 1):
		return nil, fault.New("Budget", h.Budget, "above 0 and at most 1")
	}
	return &hedger{Hedge: h, savings: hedgeBurst, methods: make(map[string]*latencies)}, nil
}

// mayRunTwice tells whether the protocol says that a method has no side effects.
func (h *hedger) mayRunTwice(method string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of(method).twice
}

// of returns the latencies of a method. Requires h.mu.
func (h *hedger) of(method string) *latencies {
	l := h.methods[method]
	if l == nil {
		l = &latencies{twice: withoutSideEffects(method)}
		h.methods[method] = l
	}
	return l
}

func withoutSideEffects(method string) bool {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return false // a service that is not of gsimc
	}
	options, ok := d.Options().(*descriptorpb.MethodOptions)
	return ok && options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

// note remembers the latency of a call.
func (h *hedger) note(method string, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.savings = min(h.savings+h.Budget, hedgeBurst)
	l := h.of(method)
	if len(l.ring) < hedgeMemory {
		l.ring = append(l.ring, took)
	} else {
		l.ring[l.next] = took
		l.next = (l.next + 1) % hedgeMemory
	}
	if l.since++; l.since >= hedgeLeast {
		sorted := slices.Sorted(slices.Values(l.ring))
		l.wait, l.since = sorted[int(h.Quantile*float64(len(sorted)))], 0
	}
}

// wait is the time after which a call is hedged; 0: it is not.
func (h *hedger) wait(method string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of(method).wait
}

// spend takes a call out of the budget, if there is one in it.
func (h *hedger) spend() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.savings < 1 {
		return false
	}
	h.savings--
	return true
}

// call makes a call, and once more if it takes long. Attempts have the numbers 0 and 1.
func (h *hedger) call(ctx context.Context, method string, reply any,
	attempt func(ctx context.Context, number uint64, reply any) error,
) error {
	wait := h.wait(method)
	into, ok := reply.(proto.Message)
	if wait == 0 || !ok {
		began := time.Now()
		err := attempt(ctx, 0, reply)
		if err == nil {
			h.note(method, time.Since(began))
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the attempt that was slower
	type outcome struct {
		reply proto.Message
		took  time.Duration
		err   error
	}
	outcomes := make(chan outcome, 2)
	start := func(number uint64) {
		began, own := time.Now(), into.ProtoReflect().New().Interface()
		err := attempt(ctx, number, own)
		outcomes <- outcome{own, time.Since(began), err}
	}
	go start(0)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for running := 1; ; {
		select {
		case <-timer.C:
			if h.spend() {
				running++
				go start(1)
			}
		case o := <-outcomes:
			if running--; o.err != nil && running > 0 {
				continue // the other may still answer
			}
			if o.err != nil {
				return o.err
			}
			h.note(method, o.took)
			proto.Merge(into, o.reply)
			return nil
		}
	}
}
