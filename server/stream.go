package server

import (
	"context"
	"errors"
	"io"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

const (
	// streamWindow is the number of events that a stream reads ahead; then flow control holds the client back.
	streamWindow = 1024
	// streamBatch is the largest number of events in one write, and so in one acknowledgement. A sync of the log costs
	// the same for one event and for this many; more would only make the first of them wait.
	streamBatch = 256
)

// StreamObserve implements EventService.
func (s events) StreamObserve(stream pb.EventService_StreamObserveServer) error {
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	o := &observeStream{server: s.Server, stream: stream, in: make(chan streamArrival, streamWindow)}
	go o.receive()
	return o.serve()
}

// observeStream is one StreamObserve: a goroutine that receives, and the handler, which writes and acknowledges.
type observeStream struct {
	server *Server
	stream pb.EventService_StreamObserveServer

	in      chan streamArrival // closed at the end of the client's side
	recvErr error              // why in was closed; to be read after that

	acked uint64 // sequence of the last settled event
}

// streamArrival is an event of the stream and its sequence number.
type streamArrival struct {
	sequence uint64
	arrival
}

// receive reads ahead and checks, until the client closes or the handler returns, which ends the stream's context.
func (o *observeStream) receive() {
	defer close(o.in)
	// The interceptor's recovery guards the handler's goroutine, not this one.
	defer o.server.recovered(o.stream.Context(), pb.EventService_StreamObserve_FullMethodName, &o.recvErr)
	for {
		msg, err := o.stream.Recv()
		if err != nil {
			o.recvErr = err
			return
		}
		select {
		case o.in <- streamArrival{msg.GetSequence(), arrive(msg.GetEvent(), "", o.server.now())}:
		case <-o.stream.Context().Done():
			o.recvErr = o.stream.Context().Err()
			return
		}
	}
}

// serve settles what arrives, until the client closes, the stream breaks or the server cuts it.
func (o *observeStream) serve() error {
	drain := &o.server.drain
	draining := drain.streams.Done()
	for {
		select {
		case first, open := <-o.in:
			if !open {
				if errors.Is(o.recvErr, io.EOF) {
					return nil
				}
				return o.recvErr
			}
			if err := o.settle(o.collect(first)); err != nil {
				return err
			}
		case <-draining:
			draining = nil // say it once
			if err := o.stream.Send(&pb.StreamObserveResponse{AckedSequence: o.acked, Draining: true}); err != nil {
				return err
			}
		case <-drain.cut.Done():
			return errDraining
		case <-o.stream.Context().Done():
			return context.Cause(o.stream.Context())
		}
	}
}

// collect takes what has arrived by now, without waiting for more.
func (o *observeStream) collect(first streamArrival) []streamArrival {
	batch := []streamArrival{first}
	for len(batch) < streamBatch {
		select {
		case next, open := <-o.in:
			if !open {
				return batch
			}
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// settle writes the batch and acknowledges it with one message. A wrong sequence number ends the stream after everything
// before it was acknowledged.
func (o *observeStream) settle(batch []streamArrival) error {
	arrivals := make([]arrival, 0, len(batch))
	var wrong error
	for i, a := range batch {
		if a.sequence != o.acked+uint64(i)+1 {
			wrong = &invalidError{[]fieldFault{{fieldSequence, "must be 1 for the first event of a stream and then rise by one"}}}
			break
		}
		arrivals = append(arrivals, a.arrival)
	}
	if len(arrivals) == 0 {
		return wrong
	}
	results, err := o.server.ingest(o.stream.Context(), arrivals)
	if err != nil {
		return err
	}
	ack := &pb.StreamObserveResponse{AckedSequence: o.acked + uint64(len(results))}
	for i, r := range results {
		if r.GetDisposition() != pb.EventDisposition_EVENT_DISPOSITION_APPLIED {
			ack.Exceptions = append(ack.Exceptions, &pb.StreamEventResult{Sequence: o.acked + uint64(i) + 1, Result: r})
		}
	}
	o.acked = ack.GetAckedSequence()
	if err := o.stream.Send(ack); err != nil {
		return err
	}
	return wrong
}
