package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/compression"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/tracing"
	"github.com/gsimc/gsimc/store"
)

// errPanic is the error of a call whose handler panicked.
var errPanic = errors.New("server: panic in a handler")

// interceptors are, from the outside to the inside: metrics (which see the final code), log, the
// mapping of errors to statuses, admission, refusal of malformed messages, recovery of panics. For
// unary calls, all but the metrics are one function: every link of a chain costs the call a
// closure.
func (s *Server) interceptors() []grpc.ServerOption {
	var exemplars []grpcprom.Option
	if s.cfg.Tracer != nil {
		exemplars = append(exemplars, grpcprom.WithExemplarFromContext(tracing.Exemplar))
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.metrics.grpc.UnaryServerInterceptor(exemplars...), s.unary),
		grpc.ChainStreamInterceptor(exceptUnknown(s.metrics.grpc.StreamServerInterceptor()),
			s.logStream, s.mapStream,
			refuseMalformedStream, s.recoverStream),
		grpc.UnknownServiceHandler(unknownMethod),
	}
}

// unknownMethod answers calls of methods and services that the server does not have.
func unknownMethod(any, grpc.ServerStream) error { return outcome.ErrUnknownMethod }

// exceptUnknown keeps the calls of unknown methods from the metrics: each name that a client makes
// up would be a series.
func exceptUnknown(metrics grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
		next grpc.StreamHandler) error {
		if srv == nil { // no service, see unknownMethod
			return next(srv, stream)
		}
		return metrics(srv, stream, info, next)
	}
}

// unary lets a call run when there is room for it, logs it and turns its error into a status.
func (s *Server) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	start := time.Now()
	compression.AnswerPlain(ctx)
	repeatRequestID(ctx, func(md metadata.MD) error { return grpc.SetHeader(ctx, md) })
	account := s.account(ctx, info.FullMethod)
	ticket := admission.Of(ctx)
	resp, err := s.guarded(ctx, ticket, req, info, next)
	account.settle(ctx, err)
	if err == nil {
		resp = followed(ticket, resp)
	} else {
		pushback(ctx, err)
		resp, err = nil, s.publicError(ctx, info.FullMethod, err)
	}
	s.logCall(ctx, info.FullMethod, time.Since(start), err, req, ticket)
	return resp, err
}

// guarded answers a request that could be decoded, even if its handler panics.
func (s *Server) guarded(
	ctx context.Context, ticket *admission.Ticket, req any, info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (_ any, err error) {
	if err := s.refused(ctx); err != nil {
		ticket.Forget()
		return nil, err
	}
	if err := ticket.Run(); err != nil {
		return nil, err
	}
	defer ticket.Leave()
	if err := wire.Malformed(req); err != nil {
		return nil, err
	}
	defer s.recovered(ctx, info.FullMethod, &err)
	return next(ctx, req)
}

func (s *Server) logStream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
) error {
	start := time.Now()
	compression.AnswerPlain(stream.Context())
	repeatRequestID(stream.Context(), stream.SetHeader)
	err := next(srv, stream)
	// A stream is meant to be open for long, so its duration never makes it slow.
	s.log.LogAttrs(stream.Context(), slog.LevelDebug, "stream",
		withIDs(stream.Context(), []slog.Attr{
			slog.String("grpc.method", info.FullMethod),
			slog.String("grpc.code", outcome.Status(err).Code().String()),
			durationMS(time.Since(start))})...)
	return err
}

// logCall writes the access log at debug level, and slow calls, of which there may be very many, at
// warning level.
func (s *Server) logCall(
	ctx context.Context, method string, took time.Duration, err error, req any,
	ticket *admission.Ticket,
) {
	slow := s.cfg.SlowRequest > 0 && took >= s.cfg.SlowRequest
	if !slow && !s.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	code := outcome.Status(err).Code()
	detail := []slog.Attr{durationMS(took), stages(ticket)}
	if user := userOf(req); user != "" {
		detail = append(detail, slog.Any("user_hash", userID{s.hasher, user}))
	}
	detail = withIDs(ctx, detail)
	if slow {
		s.slow.add(method, code, detail...)
	}
	s.log.LogAttrs(ctx, slog.LevelDebug, "call", append([]slog.Attr{
		slog.String("grpc.method", method), slog.String("grpc.code", code.String())}, detail...)...)
}

func durationMS(d time.Duration) slog.Attr { return millis("duration_ms", d) }

// millis logs a duration; key ends in _ms, since a [slog.Duration] is a bare number of nanoseconds
// in JSON.
func millis(key string, d time.Duration) slog.Attr {
	return slog.Float64(key, float64(d.Microseconds())/1e3)
}

// userOf is the user that a request is about, if it is about one.
func userOf(req any) string {
	switch r := req.(type) {
	case interface{ GetUserId() string }:
		return r.GetUserId()
	case *pb.ObserveRequest:
		return r.GetEvent().GetUserId()
	case *pb.MergeUsersRequest:
		return r.GetTargetUserId()
	}
	return ""
}

// mapStream keeps the account of streams and turns errors into statuses. Streams that only wait for
// news (health Watch) end when the drain begins; StreamObserve watches the drain itself and
// finishes its work.
func (s *Server) mapStream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
) error {
	if info.FullMethod != pb.EventService_StreamObserve_FullMethodName {
		ctx, cancel := context.WithCancel(stream.Context())
		defer cancel()
		defer context.AfterFunc(s.drain.streams, cancel)()
		stream = &contextStream{stream, ctx}
	}
	account := s.account(stream.Context(), info.FullMethod)
	err := s.runStream(srv, stream, info.FullMethod, next)
	account.settle(stream.Context(), err)
	if err != nil {
		pushback(stream.Context(), err)
		return s.publicError(stream.Context(), info.FullMethod, err)
	}
	return nil
}

// runStream runs a stream that the doors let in and that there is room for.
func (s *Server) runStream(
	srv any, stream grpc.ServerStream, method string, next grpc.StreamHandler,
) error {
	ticket := admission.Of(stream.Context())
	if err := s.refused(stream.Context()); err != nil {
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
			stream = &fedStream{stream, s, method, ticket}
		}
	}
	defer ticket.Forget()
	stream = &answeringStream{stream, ticket}
	if s.doors.Guarded() {
		return roomTaken(ticket, s.whileAllowed(stream, method,
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
	server *Server
	method string
	ticket *admission.Ticket
}

// RecvMsg implements grpc.ServerStream.
func (f *fedStream) RecvMsg(m any) error {
	f.ticket.Idle()
	defer f.ticket.Working()
	received := make(chan error, 1)
	go func() { // ends with the call at the latest
		var err error
		defer func() { received <- err }()
		defer f.server.recovered(f.Context(), f.method, &err)
		err = f.ServerStream.RecvMsg(m)
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

// publicError returns the error that the client gets. Causes that the client does not get to see
// are logged here and nowhere else. Here the server also learns first that its store has failed.
func (s *Server) publicError(ctx context.Context, method string, err error) error {
	if errors.Is(err, store.ErrFailed) {
		s.storeFailed()
	}
	st := outcome.Status(err)
	hidden := errors.Is(err, store.ErrInvalid) // the validation of requests let something through
	switch st.Code() {
	case codes.Internal, codes.Unknown, codes.DataLoss, codes.ResourceExhausted:
		hidden = true
	}
	// counted, and there may be very many; nothing is wrong with the store
	if errors.As(err, new(*admission.RefusedError)) || errors.Is(err, outcome.ErrSessionLost) ||
		errors.Is(err, outcome.ErrTooLarge) {
		hidden = false
	}
	if hidden {
		s.failures.add(method, st.Code(), withIDs(ctx, []slog.Attr{cause(err)})...)
	}
	return st.Err()
}

func (s *Server) recoverStream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
) (err error) {
	defer s.recovered(stream.Context(), info.FullMethod, &err)
	return next(srv, stream)
}

// guard is the [background.Guard] of the work that no call waits for.
func (s *Server) guard(ctx context.Context, what string, work func() error) (err error) {
	defer s.recovered(ctx, what, &err)
	return work()
}

// recovered makes a panic an internal error of its call. The log gets the type of the panic's value
// and the stack; the value itself may be made of request data, unless it is an error of the Go
// runtime.
func (s *Server) recovered(ctx context.Context, method string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	*err = errPanic
	s.metrics.panics.Inc()
	cause := fmt.Sprintf("%T", p)
	if e, ok := p.(interface {
		RuntimeError()
		Error() string
	}); ok {
		cause = e.Error()
	}
	s.log.LogAttrs(ctx, slog.LevelError, "panic in a handler", withIDs(ctx, []slog.Attr{
		slog.String("grpc.method", method), slog.String("cause", cause),
		slog.String("stack", string(debug.Stack()))})...)
}
