package loadtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// eventStream is a StreamObserve on one connection, shared by any number of senders. The first
// event opens it. After it broke, the next event opens a new one.
type eventStream struct {
	conn grpc.ClientConnInterface

	mu   sync.Mutex // of sending, too: sequence numbers must be sent in order
	open *openStream
}

// openStream is the stream between its opening and its end.
type openStream struct {
	stream grpc.ClientStream
	cancel context.CancelFunc

	mu      sync.Mutex
	pending []pendingMessage // by sequence
	sent    uint64           // sequence of the last event
	err     error            // why it ended
}

// pendingMessage is a message that was sent and is not wholly acknowledged.
type pendingMessage struct {
	last    uint64 // sequence of its last event
	settled func(error)
}

var streamDesc = &grpc.StreamDesc{StreamName: "StreamObserve", ServerStreams: true,
	ClientStreams: true}

// errRejected stands for an event that the server refused.
var errRejected = errors.New("the server rejected a streamed event")

// call sends one event and waits for its acknowledgement.
func (s *eventStream) call(ctx context.Context, event []byte) error {
	done := make(chan error, 1)
	if err := s.send([][]byte{event}, func(err error) { done <- err }); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends encoded events in one message; settled is called once, when all are acknowledged or
// the stream has ended. With an error it is not called.
func (s *eventStream) send(events [][]byte, settled func(error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.current()
	if err != nil {
		return err
	}
	first, err := o.expect(len(events), settled)
	if err != nil {
		return err
	}
	// the receiver gets the reason of the failure and settles the events
	_ = o.stream.SendMsg(frame(streamRequest(first, events)))
	return nil
}

// current is the open stream, a new one if there is none.
func (s *eventStream) current() (*openStream, error) {
	if s.open != nil && !s.open.ended() {
		return s.open, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := s.conn.NewStream(ctx, streamDesc, pb.EventService_StreamObserve_FullMethodName,
		grpc.ForceCodecV2(rawCodec{}))
	if err != nil {
		cancel()
		return nil, err
	}
	s.open = &openStream{stream: stream, cancel: cancel}
	go s.open.receive()
	return s.open, nil
}

// close ends the stream and settles the unacknowledged events with an error.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		s.open.cancel()
	}
}

func (o *openStream) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

// expect numbers the events of one message and keeps the function to call when they are
// acknowledged.
func (o *openStream) expect(events int, settled func(error)) (first uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	first = o.sent + 1
	o.sent += uint64(events)
	o.pending = append(o.pending, pendingMessage{o.sent, settled})
	return first, nil
}

// receive takes acknowledgements until the stream ends.
func (o *openStream) receive() {
	defer o.cancel()
	for {
		var message frame
		var ack pb.StreamObserveResponse
		err := o.stream.RecvMsg(&message)
		if err == nil {
			err = proto.Unmarshal(message, &ack)
		}
		if err != nil {
			o.end(fmt.Errorf("the stream of events ended: %w", err))
			return
		}
		refused := error(nil)
		for _, x := range ack.GetExceptions() {
			if x.GetResult().GetDisposition() == pb.EventDisposition_EVENT_DISPOSITION_REJECTED {
				refused = fmt.Errorf("%w: %s", errRejected, x.GetResult().GetError().GetMessage())
			}
		}
		for _, p := range o.settle(ack.GetAckedSequence()) {
			// a rejection is charged to its whole acknowledgement: there should be none
			p.settled(refused)
		}
	}
}

// settle takes the messages up to a sequence from the pending ones.
func (o *openStream) settle(acked uint64) []pendingMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for n < len(o.pending) && o.pending[n].last <= acked {
		n++
	}
	settled := o.pending[:n:n]
	o.pending = o.pending[n:]
	return settled
}

// end settles everything with an error.
func (o *openStream) end(err error) {
	o.mu.Lock()
	o.err = err
	pending := o.pending
	o.pending = nil
	o.mu.Unlock()
	for _, p := range pending {
		p.settled(err)
	}
}
