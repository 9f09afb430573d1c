package calls

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/stage"
)

func (c *Chain) logStream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
) error {
	start := time.Now()
	answerPlain(stream.Context())
	repeatRequestID(stream.Context(), stream.SetHeader)
	err := next(srv, stream)
	// A stream is meant to be open for long, so its duration never makes it slow.
	c.Log.LogAttrs(stream.Context(), slog.LevelDebug, "stream",
		WithIDs(stream.Context(), []slog.Attr{
			slog.String("grpc.method", info.FullMethod),
			slog.String("grpc.code", outcome.Status(err).Code().String()),
			stage.Duration(time.Since(start))})...)
	return err
}

// Stream keeps the account of streams and turns errors into statuses. Streams that only wait for
// news (health Watch) end when the drain begins; StreamObserve watches the drain itself and
// finishes its work.
func (c *Chain) Stream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
) error {
	if info.FullMethod != pb.EventService_StreamObserve_FullMethodName {
		ctx, cancel := context.WithCancel(stream.Context())
		defer cancel()
		defer context.AfterFunc(c.Draining, cancel)()
		stream = &contextStream{stream, ctx}
	}
	account := c.account(stream.Context(), info.FullMethod)
	err := c.runStream(srv, stream, info.FullMethod, next)
	account.settle(stream.Context(), err)
	if err != nil {
		pushback(stream.Context(), err)
		return c.Public(stream.Context(), info.FullMethod, err)
	}
	return nil
}

// runStream runs a stream that the doors let in and that there is room for.
func (c *Chain) runStream(
	srv any, stream grpc.ServerStream, method string, next grpc.StreamHandler,
) error {
	ticket := admission.Of(stream.Context())
	if err := c.refused(stream.Context()); err != nil {
		ticket.Forget()
		return err
	}
	if ticket.Asked() {
		stream = &askedStream{stream, ticket, false}
	} else if err := ticket.Run(); err != nil {
		return roomTaken(ticket, err)
	} else {
		ctx, end := ticket.WhileRoom(stream.Context())
		defer end()
		stream = &contextStream{stream, ctx}
		if method != pb.EventService_StreamObserve_FullMethodName { // which waits by itself
			stream = &fedStream{stream, c.Guard, method, ticket}
		}
	}
	defer ticket.Forget()
	stream = &answeringStream{stream, ticket}
	if c.Doors.Guarded() {
		return roomTaken(ticket, c.whileAllowed(stream, method,
			func(stream grpc.ServerStream) error { return next(srv, stream) }))
	}
	return roomTaken(ticket, next(srv, stream))
}

// roomTaken returns the error of a stream, which is that of an idle one if others took its room.
func roomTaken(ticket *admission.Ticket, err error) error {
	if err != nil && !ticket.Asked() && ticket.Evicted() {
		return outcome.ErrStreamIdle
	}
	return err
}

// followed lets the ticket of a call follow an answer until it is written.
func followed(ticket *admission.Ticket, answer any) any {
	if a := ticket.Answer(); a != nil {
		return &wire.Followed{Message: answer, By: a}
	}
	return answer
}

// answeringStream is a stream whose answers are followed.
type answeringStream struct {
	grpc.ServerStream
	ticket *admission.Ticket
}

// SendMsg implements grpc.ServerStream.
func (a *answeringStream) SendMsg(m any) error {
	return a.ServerStream.SendMsg(followed(a.ticket, m))
}

// askedStream is a stream that answers one message, with which it begins to run.
type askedStream struct {
	grpc.ServerStream
	ticket *admission.Ticket
	runs   bool
}

// RecvMsg implements grpc.ServerStream.
func (a *askedStream) RecvMsg(m any) error {
	if err := a.ServerStream.RecvMsg(m); err != nil || a.runs {
		return err
	}
	a.runs = true
	return a.ticket.Run()
}

// fedStream is a stream of messages that are answered one after the other: it is idle while its
// handler waits for one, and then ends with its context.
type fedStream struct {
	grpc.ServerStream
	guard  background.Guard
	method string
	ticket *admission.Ticket
}

// RecvMsg implements grpc.ServerStream.
func (f *fedStream) RecvMsg(m any) error {
	f.ticket.Idle()
	defer f.ticket.Working()
	received := make(chan error, 1)
	go func() { // ends with the call at the latest
		received <- f.guard(f.Context(), f.method,
			func() error { return f.ServerStream.RecvMsg(m) })
	}()
	select {
	case err := <-received:
		return err
	case <-f.Context().Done():
		return f.Context().Err()
	}
}

// contextStream is a stream with another context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context is the other context.
func (c *contextStream) Context() context.Context { return c.ctx }

// refuseMalformedStream makes a message that could not be decoded an error of RecvMsg.
func refuseMalformedStream(
	srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler,
) error {
	return next(srv, wellFormedStream{stream})
}

// wellFormedStream is a stream whose messages could all be decoded.
type wellFormedStream struct{ grpc.ServerStream }

// RecvMsg implements grpc.ServerStream.
func (w wellFormedStream) RecvMsg(m any) error {
	if err := w.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return wire.Malformed(m)
}

func (c *Chain) recoverStream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
) (err error) {
	defer c.recovered(stream.Context(), info.FullMethod, &err)
	return next(srv, stream)
}
