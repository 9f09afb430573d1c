package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/dataset"
)

// fileEvents are the interactions of a data set as events, one user after the other. Each has a time, so that the server
// gives the same event the same id whenever it is sent again.
type fileEvents struct {
	*dataset.Interactions
	kind    string
	written *timestamppb.Timestamp // time of events without one
}

// event returns the i-th interaction.
func (f *fileEvents) event(i int) *pb.Event {
	user := sort.Search(len(f.Users), func(u int) bool { return f.Ptr[u+1] > int64(i) })
	e := &pb.Event{UserId: f.Users[user], ItemId: f.Items[f.Item[i]], EventType: f.kind, EventTime: f.written}
	if f.Time != nil {
		e.EventTime = &timestamppb.Timestamp{Seconds: f.Time[i]}
	}
	if f.Weight != nil {
		e.Value = proto.Float64(float64(f.Weight[i]))
	}
	return e
}

// sender streams events to a server: at most window of them beyond the last acknowledged one, and again from there
// after the connection broke.
type sender struct {
	client       pb.EventServiceClient
	source       *fileEvents
	window       int
	giveUp       time.Duration
	acknowledged func(n int)       // told now and then
	explain      func(error) error // puts a status error into words

	acked                         int       // events settled, over all connections
	heard                         time.Time // when acked rose last, at first the start
	duplicates, pending, rejected int
	firstRejection                string
	reconnects                    int
}

// Waits between two connections; doubled from the first to the last as long as nothing is acknowledged.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 3 * time.Second
)

// errSilent is the end of a stream over which nothing was acknowledged for too long.
var errSilent = errors.New("the connection stands, but the server acknowledges nothing")

func (s *sender) applied() int { return s.acked - s.duplicates - s.pending - s.rejected }

// run sends everything or returns why not.
func (s *sender) run(ctx context.Context) error {
	backoff := firstBackoff
	s.heard = time.Now()
	for s.acked < s.source.Len() {
		before := s.acked
		err := s.stream(ctx)
		if s.acked > before {
			backoff = firstBackoff
		}
		switch {
		case ctx.Err() != nil:
			return cli.ErrInterrupted
		case err == nil:
			return nil
		case !transient(err):
			return err
		case s.acked == s.source.Len():
			return nil
		case errors.Is(err, errSilent) || time.Since(s.heard) >= s.giveUp:
			return fmt.Errorf("gave up after %s (--give-up) without an acknowledgement: %w", s.giveUp, s.explain(err))
		}
		s.reconnects++
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
		}
		backoff = min(2*backoff, lastBackoff)
	}
	return nil
}

// transient reports whether a new connection may help. Events have ids, so sending them again is always safe.
func transient(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Internal, codes.Unknown, codes.DeadlineExceeded, codes.Canceled, codes.Aborted:
		return true
	}
	return false
}

// stream sends events over one connection until all are settled (nil), or the server drains, or it breaks.
func (s *sender) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A connection may hang without breaking.
	patience := time.AfterFunc(time.Until(s.heard.Add(s.giveUp)), func() { cancel(errSilent) })
	defer patience.Stop()
	stream, err := s.client.StreamObserve(ctx)
	if err != nil {
		return orSilent(ctx, err)
	}
	base := s.acked
	room := make(chan struct{}, s.window) // one token per event in flight
	stop := make(chan struct{})           // closed when the server drains
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.send(ctx, stream, base, room, stop)
	}()
	err = orSilent(ctx, s.receive(stream, base, room, stop, func() { patience.Reset(s.giveUp) }))
	cancel(nil)
	<-sent
	if err == nil && s.acked < s.source.Len() {
		return status.Error(codes.Unavailable, "the server ended the stream")
	}
	return err
}

// orSilent is errSilent if that is why ctx ended; the error of the call, err, then only says that it was cancelled.
func orSilent(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// sendBatch is the largest number of events in a message. More would make it no cheaper.
const sendBatch = 100

// send writes events from the base-th on, numbered from 1, as long as there is room, and closes its side of the stream. A
// message holds as many as there is room for at the moment. Errors come out of the receiving side.
func (s *sender) send(ctx context.Context, stream pb.EventService_StreamObserveClient, base int, room chan<- struct{}, stop <-chan struct{}) {
	for next := base; next < s.source.Len(); {
		select {
		case room <- struct{}{}:
		case <-stop:
			_ = stream.CloseSend()
			return
		case <-ctx.Done():
			return
		}
		req := &pb.StreamObserveRequest{Sequence: uint64(next - base + 1), Events: []*pb.Event{s.source.event(next)}}
		for next++; next < s.source.Len() && len(req.Events) < sendBatch && hasRoom(room); next++ {
			req.Events = append(req.Events, s.source.event(next))
		}
		if stream.Send(req) != nil {
			return
		}
	}
	_ = stream.CloseSend()
}

// hasRoom takes room for one more event, if there is some.
func hasRoom(room chan<- struct{}) bool {
	select {
	case room <- struct{}{}:
		return true
	default:
		return false
	}
}

// receive takes acknowledgements until the stream ends, and calls alive for each that settles something.
func (s *sender) receive(stream pb.EventService_StreamObserveClient, base int, room <-chan struct{}, stop chan<- struct{}, alive func()) error {
	draining := false
	for {
		got, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		settled := base + int(got.GetAckedSequence())
		if settled > s.acked {
			s.heard = time.Now()
			alive()
		}
		for ; s.acked < settled; s.acked++ {
			select {
			case <-room:
			default:
				return status.Error(codes.FailedPrecondition, "the server acknowledged an event that was not sent")
			}
		}
		for _, exception := range got.GetExceptions() {
			s.except(exception.GetResult())
		}
		s.acknowledged(s.acked)
		if got.GetDraining() && !draining {
			draining = true
			close(stop)
		}
	}
}

// except counts an event that was not simply applied.
func (s *sender) except(r *pb.EventResult) {
	switch r.GetDisposition() {
	case pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE:
		s.duplicates++
	case pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM:
		s.pending++
	case pb.EventDisposition_EVENT_DISPOSITION_REJECTED:
		if s.rejected++; s.rejected == 1 {
			s.firstRejection = r.GetError().GetMessage()
		}
	}
}
