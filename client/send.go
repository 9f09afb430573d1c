package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
)

// Events are the events to send, by their index. An event must have an id or a time, so that the
// server knows it when it is sent again.
type Events interface {
	Len() int
	Event(i int) *pb.Event
}

// SendOptions say how events are sent.
type SendOptions struct {
	InFlight int           // events sent ahead of the acknowledgements, at least 1
	GiveUp   time.Duration // since the last acknowledgement, above 0; then Send fails

	// Acknowledged, if not nil, is called now and then with the number of acknowledged events.
	Acknowledged func(n int)
	// Reconnecting, if not nil, is called when a connection broke, once until the next
	// acknowledgement, and while the server has no room for an event, once a minute.
	Reconnecting func(n int, why error)
}

func (o *SendOptions) validate() error {
	var faults []error
	if o.InFlight < 1 {
		faults = append(faults, fault.New("InFlight", o.InFlight, "at least 1"))
	}
	if o.GiveUp <= 0 {
		faults = append(faults, fault.New("GiveUp", o.GiveUp, "more than 0s"))
	}
	return errors.Join(faults...)
}

// Sent counts what became of the events.
type Sent struct {
	Acknowledged int // including the ones below

	Duplicates     int    // known to the server before, or sent twice
	Pending        int    // kept, on items that the model does not know
	Rejected       int    // for good
	FirstRejected  int    // index of the first of these, if there is one
	FirstRejection string // message of the server about it

	Reconnects int
}

// Applied returns the number of events that changed a user's state.
func (s *Sent) Applied() int { return s.Acknowledged - s.Duplicates - s.Pending - s.Rejected }

// ErrSilent is the end of a stream over which nothing was acknowledged for too long.
var ErrSilent = errors.New("the connection stands, but the server acknowledges nothing")

// Waits between two connections. The wait is doubled from the first to the last as long as nothing
// is acknowledged.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 3 * time.Second
	// quotaBackoff is the least wait for room for an event. Streams do not say how long it takes.
	quotaBackoff = time.Second
)

// Send streams all events to the server in their order. When the connection breaks it connects
// again and goes on behind the last acknowledged event. When the server has no room for an event at
// present, as for a new user beyond its quota, it waits and sends the event again with all behind
// it. Of the later events those that were under way may come first then.
//
// It returns the counts so far, and an error if not all events are acknowledged: at once if no
// connection could ever be made, and after opt.GiveUp without an acknowledgement. If ctx ends, the
// error is ctx.Err(). Options out of range are a [fault.Fault].
func (c *Client) Send(ctx context.Context, events Events, opt SendOptions) (Sent, error) {
	if err := opt.validate(); err != nil {
		return Sent{}, err
	}
	s := &sender{client: c, from: all{events}, total: events.Len(), opt: opt}
	err := s.run(ctx)
	return s.sent, err
}

// sender streams events to a server, at most InFlight of them beyond the last acknowledged one.
// After the connection broke it sends again from there.
type sender struct {
	client *Client
	from   queue
	total  int // number of events
	opt    SendOptions

	sent  Sent
	heard time.Time // time of the last acknowledgement, at first of the start
	told  bool      // of a broken connection, since then
	full  error     // a noRoomError since then, or nil

	toldFull time.Time     // of a noRoomError
	backoff  time.Duration // before the next connection
}

// A queue has the events from the first unacknowledged one on.
type queue interface {
	// next returns up to most of the events from the i-th on. It may wait for them until ctx ends;
	// then there are none. woke: it waited while nothing was under way.
	next(ctx context.Context, i, most int) (events []*pb.Event, woke bool)
	// settled tells what became of the first unacknowledged event; nil: it was applied. It reports
	// whether there is one.
	settled(*pb.EventResult) bool
}

// all is the queue of events that are all there.
type all struct{ Events }

func (a all) next(_ context.Context, i, most int) (events []*pb.Event, woke bool) {
	for end := min(i+most, a.Len()); i < end; i++ {
		events = append(events, a.Event(i))
	}
	return events, false
}

func (all) settled(*pb.EventResult) bool { return true }

// run sends everything or returns why not.
func (s *sender) run(ctx context.Context) error {
	s.heard = time.Now()
	for s.sent.Acknowledged < s.total {
		before := s.sent.Acknowledged
		err := s.stream(ctx)
		dialError, connected := s.client.dialing()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			return nil
		case !errors.Is(err, ErrSilent) && !transient(err), dialError != nil && !connected:
			return s.client.Explain(err)
		case s.sent.Acknowledged == s.total:
			return nil
		case errors.Is(err, ErrSilent) || time.Since(s.heard) >= s.opt.GiveUp:
			return &GaveUpError{After: s.opt.GiveUp, Err: s.reason(err)}
		}
		s.wait(ctx, err, s.sent.Acknowledged > before)
	}
	return nil
}

// wait tells of the end of a stream and waits before the next one. on: events were acknowledged.
func (s *sender) wait(ctx context.Context, err error, on bool) {
	s.sent.Reconnects++
	s.tell(err)
	if s.backoff = max(s.backoff, firstBackoff); on {
		s.backoff = firstBackoff
	}
	if e := new(noRoomError); errors.As(err, &e) {
		if on && e.code == codes.Unavailable { // it looks up some at a time: now others
			return
		}
		s.backoff = max(s.backoff, quotaBackoff)
	}
	select {
	case <-time.After(s.backoff):
	case <-ctx.Done():
	}
	s.backoff = min(2*s.backoff, lastBackoff)
}

// A GaveUpError is the error of [Client.Send] when nothing was acknowledged for too long.
type GaveUpError struct {
	After time.Duration // since the last acknowledgement
	Err   error         // the last failure
}

// Error returns one sentence.
func (e *GaveUpError) Error() string {
	return fmt.Sprintf("gave up after %s without an acknowledgement: %v", e.After, e.Err)
}

// Unwrap returns the last failure.
func (e *GaveUpError) Unwrap() error { return e.Err }

// reason returns why nothing is acknowledged: a server that cannot be reached, or that had no room,
// is not silent.
func (s *sender) reason(err error) error {
	if errors.Is(err, ErrSilent) {
		if dialError, _ := s.client.dialing(); dialError != nil {
			err = status.Error(codes.Unavailable, dialError.Error())
		} else if s.full != nil {
			err = s.full
		}
	}
	return s.client.Explain(err)
}

// tellFull is the time between two times that the lack of room is told.
const tellFull = time.Minute

// tell tells of a broken connection, once until the next acknowledgement, and of a lack of room not
// much more often: under a quota there is some with each attempt.
func (s *sender) tell(err error) {
	full := errors.As(err, new(*noRoomError))
	if s.opt.Reconnecting != nil && !s.told && (!full || time.Since(s.toldFull) >= tellFull) {
		if s.told = true; full {
			s.toldFull = time.Now()
		}
		s.opt.Reconnecting(s.sent.Acknowledged, s.client.Explain(err))
	}
}

// transient reports whether a new connection may help. Events have ids, so that sending them again
// is always safe.
func transient(err error) bool {
	if errors.As(err, new(*noRoomError)) {
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Internal, codes.Unknown, codes.DeadlineExceeded, codes.Canceled,
		codes.Aborted:
		return true
	}
	return false
}

// stream sends events over one connection until all are settled (nil), or the server drains, or it
// breaks.
func (s *sender) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A connection may hang without breaking.
	patience := time.AfterFunc(time.Until(s.heard.Add(s.opt.GiveUp)), func() { cancel(ErrSilent) })
	defer patience.Stop()
	alive := func() { patience.Reset(s.opt.GiveUp) }
	stream, err := pb.NewEventServiceClient(s.client.conn).StreamObserve(ctx)
	if err != nil {
		return orSilent(ctx, err)
	}
	base := s.sent.Acknowledged
	room := make(chan struct{}, s.opt.InFlight) // one token per event in flight
	on, stop := context.WithCancel(ctx)         // ends when the server drains
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.send(on, stream, base, room, alive)
	}()
	err = orSilent(ctx, s.receive(stream, base, room, stop, alive))
	cancel(nil)
	stop()
	<-sent
	if err == nil && s.sent.Acknowledged < s.total {
		return status.Error(codes.Unavailable, "the server ended the stream")
	}
	return err
}

// orSilent returns ErrSilent if ctx ended for that reason, since err then only says that the call
// was cancelled. Otherwise it returns err.
func orSilent(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrSilent) {
		return ErrSilent
	}
	return err
}

// sendBatch is the largest number of events in a message. More would make it no cheaper.
const sendBatch = 100

// send writes events from the base-th on, numbered from 1, as long as there is room, and closes its
// side of the stream when ctx ends. A message holds as many events as there are, and as there is
// room for, at the moment. Errors come out of the receiving side.
func (s *sender) send(ctx context.Context, stream pb.EventService_StreamObserveClient, base int,
	room chan<- struct{}, alive func(),
) {
	for next := base; next < s.total; {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			_ = stream.CloseSend()
			return
		}
		// Nobody else fills it, so there is still this much of it afterwards.
		free := cap(room) - len(room) + 1
		events, woke := s.from.next(ctx, next, min(free, sendBatch))
		if woke {
			alive()
		}
		if len(events) == 0 { // ctx ended
			_ = stream.CloseSend()
			return
		}
		for range len(events) - 1 {
			room <- struct{}{}
		}
		req := &pb.StreamObserveRequest{Sequence: uint64(next - base + 1), Events: events}
		if next += len(events); stream.Send(req) != nil {
			return
		}
	}
	_ = stream.CloseSend()
}

// taken gives room back for one event, if some is taken.
func taken(room <-chan struct{}) bool {
	select {
	case <-room:
		return true
	default:
		return false
	}
}

// receive takes acknowledgements until the stream ends, and calls alive for each that settles
// something.
func (s *sender) receive(stream pb.EventService_StreamObserveClient, base int, room <-chan struct{},
	stop, alive func(),
) error {
	for {
		got, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		settled := base + int(got.GetAckedSequence())
		refused := noRoom(got.GetExceptions())
		if refused != nil { // neither it nor what is behind it is settled
			settled = min(settled, base+int(refused.GetSequence())-1)
		}
		if settled > s.sent.Acknowledged {
			s.heard, s.told, s.full = time.Now(), false, nil
			alive()
		}
		results := map[uint64]*pb.EventResult{}
		for _, exception := range got.GetExceptions() {
			results[exception.GetSequence()] = exception.GetResult()
		}
		for ; s.sent.Acknowledged < settled; s.sent.Acknowledged++ {
			result := results[uint64(s.sent.Acknowledged-base+1)]
			if !taken(room) || !s.from.settled(result) {
				return status.Error(codes.FailedPrecondition,
					"the server acknowledged an event that was not sent")
			}
			s.count(result)
		}
		if s.opt.Acknowledged != nil {
			s.opt.Acknowledged(s.sent.Acknowledged)
		}
		if refused != nil {
			e := refused.GetResult().GetError()
			s.full = &noRoomError{codes.Code(e.GetCode()), e.GetMessage()}
			return s.full
		}
		if got.GetDraining() {
			stop()
		}
	}
}

// A noRoomError ends a stream on which the server had no room for an event.
type noRoomError struct {
	code    codes.Code
	message string
}

// Error is the message of the server.
func (e *noRoomError) Error() string { return e.message }

// GRPCStatus is the status that the event would have got by itself.
func (e *noRoomError) GRPCStatus() *status.Status {
	return status.New(e.code, e.message)
}

// noRoom returns the first event that was rejected for a reason that passes by itself, or nil.
func noRoom(exceptions []*pb.StreamEventResult) (first *pb.StreamEventResult) {
	for _, e := range exceptions {
		switch codes.Code(e.GetResult().GetError().GetCode()) {
		case codes.ResourceExhausted, codes.Unavailable: // what can be found out later, too
			if first == nil || e.GetSequence() < first.GetSequence() {
				first = e
			}
		}
	}
	return first
}

// count counts an event whose disposition is not APPLIED.
func (s *sender) count(r *pb.EventResult) {
	switch r.GetDisposition() {
	case pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE:
		s.sent.Duplicates++
	case pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM:
		s.sent.Pending++
	case pb.EventDisposition_EVENT_DISPOSITION_REJECTED:
		if s.sent.Rejected++; s.sent.Rejected == 1 {
			s.sent.FirstRejected = s.sent.Acknowledged
			s.sent.FirstRejection = r.GetError().GetMessage()
		}
	}
}
