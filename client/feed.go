package client

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// A Source gives events without an end, such as those of a topic. Its methods are called from two
// goroutines, each from one at a time.
type Source interface {
	// Next returns from one event to the number most, each with an id or a time. It waits for
	// them until ctx ends, and only then it may return none. What it returns is never asked for
	// again.
	Next(ctx context.Context, most int) []*pb.Event
	// Settled is called once for each event, in the order of Next, as soon as it is durable or
	// rejected for good. The result is nil if the event was applied.
	Settled(result *pb.EventResult)
}

// Feed streams the events of a source to the server in their order until ctx ends, and returns
// ctx.Err(). It connects again after everything that may pass, however long it takes: a server that
// is not there, that has no room, or that has acknowledged nothing for opt.GiveUp. It returns
// another error only if a new connection cannot help, such as for a token that the server does not
// know.
func (c *Client) Feed(ctx context.Context, source Source, opt SendOptions) error {
	if err := opt.validate(); err != nil {
		return err
	}
	f := &feed{source: source}
	s := &sender{client: c, from: f, total: math.MaxInt, opt: opt}
	for f.ready(ctx) {
		s.heard = time.Now()
		before := s.sent.Acknowledged
		err := s.stream(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, ErrSilent) && !transient(err) && !passing(err):
			return c.Explain(err)
		case f.empty(): // a stream over which nothing came for long has ended, or the server drains
			continue
		}
		s.wait(ctx, err, s.sent.Acknowledged > before)
	}
	return ctx.Err()
}

// passing reports whether an error of a stream, beyond those that are [transient], ends by itself
// or by what an operator does to the server: it is overloaded, its disk is full or damaged.
func passing(err error) bool {
	code := status.Code(err)
	return code == codes.ResourceExhausted || code == codes.DataLoss
}

// feed is the queue of a source: what it gave and is not acknowledged.
type feed struct {
	source Source

	mu     sync.Mutex
	events []*pb.Event
	first  int // number of the first of them
}

// next implements queue.
func (f *feed) next(ctx context.Context, i, most int) (events []*pb.Event, woke bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i == f.first+len(f.events) {
		f.mu.Unlock()
		got := f.source.Next(ctx, most)
		f.mu.Lock()
		woke = len(f.events) == 0
		f.events = append(f.events, got...)
	}
	from := i - f.first
	return f.events[from:min(from+most, len(f.events))], woke
}

// settled implements queue.
func (f *feed) settled(result *pb.EventResult) bool {
	f.mu.Lock()
	there := len(f.events) > 0
	if there {
		f.events[0] = nil
		f.events = f.events[1:]
		f.first++
	}
	f.mu.Unlock()
	if there {
		f.source.Settled(result)
	}
	return there
}

func (f *feed) empty() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.events) == 0
}

// ready waits for the first event that is to be sent, since a server need not hold a stream that
// nothing comes over. It reports whether there is one.
func (f *feed) ready(ctx context.Context) bool {
	if !f.empty() {
		return ctx.Err() == nil
	}
	events, _ := f.next(ctx, f.first, sendBatch)
	return len(events) > 0 && ctx.Err() == nil
}
