// Package calls is what a call meets between its connection and its handler: admission, roles,
// logs, audit, metrics and the recovery of panics. table.go says which of them a method is for.
package calls

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"

	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/tracing"
	"github.com/gsimc/gsimc/store"
)

// errPanic is the error of a call whose handler panicked.
var errPanic = errors.New("server: panic in a handler")

// Deps are what the calls need on their way.
type Deps struct {
	Doors       *doors.Doors
	Log         *slog.Logger
	Users       *Hasher
	SlowRequest time.Duration // from which a call is logged as slow; 0: none is
	Traced      bool          // a call may have a trace
	Metrics     *Metrics
	StoreFailed func()          // is told that a call has met the end of the store
	Draining    context.Context // ends when streams are told to come to an end
}

// Chain is what every call passes on its way to its handler and back. Make it with [New].
type Chain struct {
	Deps
	failures *failureLog
	refusals *failureLog // in the tap, of calls of which there is an account
	slow     *failureLog // of calls that took long
	live     sync.Map    // of *liveStream
}

// New returns the chain. It ends the streams whose tokens count no more.
func New(d Deps) *Chain {
	c := &Chain{Deps: d,
		failures: newFailureLog(d.Log, slog.LevelError, "call failed", FailureInterval),
		refusals: newFailureLog(d.Log, slog.LevelWarn, "audit: call refused", FailureInterval),
		slow:     newFailureLog(d.Log, slog.LevelWarn, "slow call", FailureInterval),
	}
	d.Doors.OnTokens = c.tokensChanged
	return c
}

// Options are the options of a gRPC server whose calls pass the chain and the gate.
func (c *Chain) Options(gate *admission.Gate) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.UnaryInterceptor(c.Unary()), grpc.StreamInterceptor(c.Streams()),
		grpc.UnknownServiceHandler(unknownMethod),
		grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
			return c.Tap(ctx, gate, info.FullMethodName)
		}),
	}
}

// Unary is what an unary call passes behind the tap, from the outside to the inside: metrics (which
// see the final code), log, the mapping of errors to statuses, admission, refusal of malformed
// messages, recovery of panics. All but the metrics are one function: every link of a chain costs
// the call a closure.
func (c *Chain) Unary() grpc.UnaryServerInterceptor {
	metrics := c.Metrics.grpc.UnaryServerInterceptor(c.exemplars()...)
	return func(
		ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
	) (any, error) {
		return metrics(ctx, req, info, func(ctx context.Context, req any) (any, error) {
			return c.unary(ctx, req, info, next)
		})
	}
}

// Streams is [Chain.Unary] for streams.
func (c *Chain) Streams() grpc.StreamServerInterceptor {
	links := []grpc.StreamServerInterceptor{
		exceptUnknown(c.Metrics.grpc.StreamServerInterceptor()), c.logStream, c.Stream,
		refuseMalformedStream, c.recoverStream,
	}
	return func(
		srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
	) error {
		for _, link := range slices.Backward(links) {
			inner := next
			next = func(srv any, stream grpc.ServerStream) error {
				return link(srv, stream, info, inner)
			}
		}
		return next(srv, stream)
	}
}

func (c *Chain) exemplars() []grpcprom.Option {
	if !c.Traced {
		return nil
	}
	return []grpcprom.Option{grpcprom.WithExemplarFromContext(tracing.Exemplar)}
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
func (c *Chain) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	start := time.Now()
	answerPlain(ctx)
	repeatRequestID(ctx, func(md metadata.MD) error { return grpc.SetHeader(ctx, md) })
	account := c.account(ctx, info.FullMethod)
	ticket := admission.Of(ctx)
	resp, err := c.guarded(ctx, ticket, req, info, next)
	account.settle(ctx, err)
	if err == nil {
		resp = followed(ticket, resp)
	} else {
		pushback(ctx, err)
		resp, err = nil, c.Public(ctx, info.FullMethod, err)
	}
	c.logCall(ctx, info.FullMethod, time.Since(start), err, req, ticket)
	return resp, err
}

// guarded answers a request that could be decoded, even if its handler panics.
func (c *Chain) guarded(
	ctx context.Context, ticket *admission.Ticket, req any, info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (_ any, err error) {
	if err := c.refused(ctx); err != nil {
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
	if err := c.checkUser(ctx, info.FullMethod, req); err != nil {
		return nil, err
	}
	defer c.recovered(ctx, info.FullMethod, &err)
	return next(ctx, req)
}

// logCall writes the access log at debug level, and slow calls, of which there may be very many, at
// warning level.
func (c *Chain) logCall(
	ctx context.Context, method string, took time.Duration, err error, req any,
	ticket *admission.Ticket,
) {
	slow := c.SlowRequest > 0 && took >= c.SlowRequest
	if !slow && !c.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	code := outcome.Status(err).Code()
	detail := []slog.Attr{stage.Duration(took), stage.Log(ticket)}
	if user := userOf(method, req); user != "" {
		detail = append(detail, slog.Any("user_hash", c.Users.Hash(user)))
	}
	detail = WithIDs(ctx, detail)
	if slow {
		c.slow.add(method, code, detail...)
	}
	c.Log.LogAttrs(ctx, slog.LevelDebug, "call", append([]slog.Attr{
		slog.String("grpc.method", method), slog.String("grpc.code", code.String())}, detail...)...)
}

// Public returns the error that the client gets. Causes that the client does not get to see
// are logged here and nowhere else. Here the server also learns first that its store has failed.
func (c *Chain) Public(ctx context.Context, method string, err error) error {
	if errors.Is(err, store.ErrFailed) {
		c.StoreFailed()
	}
	st := outcome.Status(err)
	hidden := errors.Is(err, store.ErrInvalid) // the validation of requests let something through
	switch st.Code() {
	case codes.Internal, codes.Unknown, codes.DataLoss, codes.ResourceExhausted:
		hidden = true
	}
	// counted, and there may be very many; nothing is wrong with the store
	if errors.As(err, new(*admission.RefusedError)) || errors.Is(err, outcome.ErrSessionLost) ||
		errors.Is(err, outcome.ErrTooLarge) || errors.Is(err, doors.ErrRateLimit) {
		hidden = false
	}
	if hidden {
		c.failures.add(method, st.Code(), WithIDs(ctx, []slog.Attr{cause(err)})...)
	}
	return st.Err()
}

// Guard is the [background.Guard] of the work that no call waits for.
func (c *Chain) Guard(ctx context.Context, what string, work func() error) (err error) {
	defer c.recovered(ctx, what, &err)
	return work()
}

// recovered makes a panic an internal error of its call. The log gets the type of the panic's value
// and the stack; the value itself may be made of request data, unless it is an error of the Go
// runtime.
func (c *Chain) recovered(ctx context.Context, method string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	*err = errPanic
	c.Metrics.panics.Inc()
	cause := fmt.Sprintf("%T", p)
	if e, ok := p.(interface {
		RuntimeError()
		Error() string
	}); ok {
		cause = e.Error()
	}
	c.Log.LogAttrs(ctx, slog.LevelError, "panic in a handler", WithIDs(ctx, []slog.Attr{
		slog.String("grpc.method", method), slog.String("cause", cause),
		slog.String("stack", string(debug.Stack()))})...)
}
