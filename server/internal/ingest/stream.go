package ingest

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// StreamWindow is the number of events that a stream reads ahead, give or take a message; then flow
// control holds the client back. Events that arrive during one write make up the next write, so
// this is also about the largest number of events in one write and in one acknowledgement.
const StreamWindow = 4096

// StreamObserve implements EventService.
func (s *service) StreamObserve(stream pb.EventService_StreamObserveServer) error {
	s.Metrics.streams.Inc()
	defer s.Metrics.streams.Dec()
	o := &observeStream{service: s, stream: stream,
		in: &inbox{ready: make(chan struct{}, 1), room: make(chan struct{}, 1),
			ticket: admission.Of(stream.Context())}}
	received := make(chan struct{})
	go func() {
		defer close(received)
		// The chain's recovery guards the handler's goroutine, not this one.
		o.in.close(s.Guard(stream.Context(),
			pb.EventService_StreamObserve_FullMethodName, o.receive))
	}()
	defer func() { // what was read ahead and is not settled is given back
		go func() {
			<-received // it ends with the context of the stream
			s.ReadAhead.Give(o.in.take(nil).taken)
		}()
	}()
	return o.serve()
}

// MaxReadAhead is the memory, in bytes, of the events that all streams together read ahead. At the
// limit a stream waits, and flow control holds its client back.
const MaxReadAhead = 64 << 20

// streamReadAhead is the memory, in bytes, of the events that one stream reads ahead, give or take
// a message. A stream that holds nothing takes up to freeReadAhead even if the others have taken
// all, so that none waits for one whose client does not read.
const (
	streamReadAhead = 1 << 20
	freeReadAhead   = 64 << 10
)

// bytesOf is the memory of arrivals, give or take.
func bytesOf(events []arrival) int {
	n := len(events) * int(unsafe.Sizeof(arrival{}))
	for i := range events {
		r := &events[i].record
		n += len(r.User) + len(r.Event.ID) + len(r.Event.Item) + len(r.Event.Type)
		if events[i].fault == nil {
			continue
		}
		if invalid, ok := errors.AsType[*valid.Error](events[i].fault); ok {
			for _, f := range invalid.Faults {
				n += int(unsafe.Sizeof(f)) + len(f.Field) + len(f.Text)
			}
		}
	}
	return n
}

// observeStream is one StreamObserve: a goroutine that receives, and the handler, which writes and
// acknowledges.
type observeStream struct {
	*service
	stream pb.EventService_StreamObserveServer
	in     *inbox

	acked  uint64      // sequence of the last settled event
	tokens atomic.Bool // the client wants session tokens
	ingestion
}

// inbox holds the events that have arrived and are not yet taken. One goroutine puts and one takes.
type inbox struct {
	ready chan struct{} // holds a token when there is something to take
	room  chan struct{} // holds a token when something has been taken
	// ticket is told when there is nothing left to do, so that no stream counts as idle while the
	// server is slow.
	ticket *admission.Ticket

	mu     sync.Mutex
	coming bool // a message has come and is not put yet
	content
}

// content is what is in an inbox.
type content struct {
	events   []arrival
	bytes    int       // their memory
	taken    int       // what of it is taken out of the budget of all streams
	received time.Time // when the first of them came
	closed   bool      // no more will come
	// err is the reason of the close. The stream ends with it once the events before it are
	// settled.
	err error
}

// came notes that a message has come, which put follows.
func (b *inbox) came() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.coming = true
	b.ticket.Working()
}

// settled notes that what was taken is settled.
func (b *inbox) settled() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.coming && len(b.events) == 0 {
		b.ticket.Idle()
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds events of this memory, of which something is taken out of the budget. It reports whether
// the inbox is full: then the caller waits for room.
func (b *inbox) put(events []arrival, bytes, taken int, received time.Time) (full bool) {
	b.mu.Lock()
	if len(b.events) == 0 {
		b.received = received
	}
	b.events = append(b.events, events...)
	b.bytes += bytes
	b.taken += taken
	b.coming = false
	full = len(b.events) >= StreamWindow || b.bytes >= streamReadAhead
	b.mu.Unlock()
	signal(b.ready)
	return full
}

// empty reports whether everything that came is taken.
func (b *inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.events) == 0
}

func (b *inbox) close(err error) {
	b.mu.Lock()
	b.closed, b.err = true, err
	b.mu.Unlock()
	signal(b.ready)
}

// take returns the arrived events and leaves the memory of spare in their place.
func (b *inbox) take(spare []arrival) content {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.content
	b.events, b.bytes, b.taken = spare[:0], 0, 0
	signal(b.room)
	return c
}

// receive reads ahead and checks, until the client closes or the handler returns, which ends the
// stream's context.
func (o *observeStream) receive() error {
	var message wire.StreamMessage
	var arrivals []arrival
	for next := uint64(1); ; {
		if err := o.stream.RecvMsg(&message); err != nil {
			return err
		}
		if err := valid.StreamMessage(&message, next); err != nil {
			return err
		}
		o.in.came()
		if message.Tokens {
			o.tokens.Store(true)
		}
		received := o.Now()
		arrivals = arrivals[:0]
		for i, e := range message.Events {
			// A nanosecond apart, so that equal events without id and time are different events.
			arrivals = append(arrivals,
				o.arrive(e, "", received.Add(time.Duration(i))))
		}
		next += uint64(len(arrivals))
		bytes, taken := bytesOf(arrivals), 0
		if bytes > freeReadAhead || !o.in.empty() {
			if err := o.ReadAhead.Take(o.stream.Context(), bytes); err != nil {
				return err
			}
			taken = bytes
		}
		for full := o.in.put(arrivals, bytes, taken, received); full; full = false {
			select {
			case <-o.in.room:
			case <-o.stream.Context().Done():
				return o.stream.Context().Err()
			}
		}
	}
}

// serve settles the arriving events until the client closes, the stream breaks or the server cuts
// it.
func (o *observeStream) serve() error {
	draining := o.Draining.Done()
	idle := time.NewTimer(o.StreamIdle)
	defer idle.Stop()
	var batch []arrival
	for {
		select {
		case <-o.in.ready:
			in := o.in.take(batch)
			batch = in.events
			if len(batch) > 0 {
				if err := o.settle(in); err != nil {
					return err
				}
				idle.Reset(o.StreamIdle)
				o.in.settled()
			}
			if in.closed {
				if errors.Is(in.err, io.EOF) {
					return nil
				}
				return in.err
			}
		case <-draining:
			draining = nil // announce it once
			if err := o.stream.Send(&pb.StreamObserveResponse{AckedSequence: o.acked,
				Draining: true}); err != nil {
				return err
			}
		case <-idle.C:
			return outcome.ErrStreamIdle
		case <-o.Cut.Done():
			return outcome.ErrDraining
		case <-o.stream.Context().Done():
			return context.Cause(o.stream.Context())
		}
	}
}

// settle writes what came and acknowledges it with one message. A client that does not read holds
// the message up, but none of the events.
func (o *observeStream) settle(in content) error {
	ack, err := o.write(in)
	if err != nil {
		return err
	}
	clear(in.events)
	clear(o.outcomes)
	clear(o.records)
	return o.stream.Send(ack)
}

// write writes what came, gives its memory back to the other streams and returns the
// acknowledgement.
func (o *observeStream) write(in content) (*pb.StreamObserveResponse, error) {
	defer o.ReadAhead.Give(in.taken)
	outcomes, err := o.ingest(o.stream.Context(), &o.ingestion, in.events, in.received)
	if err != nil {
		return nil, err
	}
	ack := &pb.StreamObserveResponse{AckedSequence: o.acked + uint64(len(outcomes))}
	for i := range outcomes {
		if outcomes[i].disposition != pb.EventDisposition_EVENT_DISPOSITION_APPLIED {
			ack.Exceptions = append(ack.Exceptions,
				&pb.StreamEventResult{Sequence: o.acked + uint64(i) + 1,
					Result: outcomes[i].result()})
		}
	}
	if o.tokens.Load() {
		ack.SessionTokens = o.sessionTokens(in.events, outcomes)
	}
	o.acked = ack.GetAckedSequence()
	return ack, nil
}

// sessionTokens returns for each user the token of the longest history that a stored event ends, in
// the order of the events. A repeat at the end may be of an earlier event.
func (o *observeStream) sessionTokens(
	batch []arrival, outcomes []eventOutcome,
) []*pb.StreamSessionToken {
	id := o.Store.Identity()
	longest := map[string]int{}
	for i := range outcomes {
		if outcomes[i].fault != nil {
			continue
		}
		user := batch[i].record.User
		at, ok := longest[user]
		if !ok || outcomes[i].version.Revision >= outcomes[at].version.Revision {
			longest[user] = i
		}
	}
	tokens := make([]*pb.StreamSessionToken, 0, len(longest))
	for i := range outcomes {
		user := batch[i].record.User
		if at, ok := longest[user]; ok && at == i {
			token := session.Make(id, user, outcomes[i].version)
			tokens = append(tokens, &pb.StreamSessionToken{
				Sequence: o.acked + uint64(i) + 1, SessionToken: token[:]})
		}
	}
	return tokens
}
