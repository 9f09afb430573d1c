package client

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// answers are the errors that a server gave to the attempts of one call. gRPC repeats a call by
// itself, and at the deadline it says nothing of them.
type answers struct {
	mu   sync.Mutex
	n    int
	last *status.Status
}

// add takes note of an answer. That the deadline of the call is over, which a server may notice
// just before the client does, says nothing that the client does not know.
func (a *answers) add(err error) {
	s := status.Convert(err)
	if s.Code() == codes.DeadlineExceeded && !answered(s) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	a.last = s
}

// beside returns the error of the call with the answers, if it ended at its deadline and there were
// some.
func (a *answers) beside(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == 0 || status.Code(err) != codes.DeadlineExceeded || answered(status.Convert(err)) {
		return err
	}
	return &unansweredError{error: err, n: a.n, last: a.last}
}

// answered tells that a status is one of a gsimc server, which gives a reason, and not of gRPC.
func answered(s *status.Status) bool { return len(s.Proto().GetDetails()) > 0 }

// An unansweredError is the end of a call at its deadline, after answers to earlier attempts.
type unansweredError struct {
	error
	n    int
	last *status.Status
}

// Unwrap returns the error of gRPC.
func (e *unansweredError) Unwrap() error { return e.error }

// GRPCStatus is the status of the call.
func (e *unansweredError) GRPCStatus() *status.Status { return status.Convert(e.error) }

// counted has the answers to a call counted.
func counted(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	a := &answers{}
	ctx = context.WithValue(ctx, answersKey{}, a)
	return a.beside(invoke(ctx, method, req, reply, cc, opts...))
}

type answersKey struct{}

// attempts sees each attempt of a call, and adds what the server answered to its answers.
type attempts struct{}

// attempt is one of them.
type attempt struct {
	answers  *answers
	answered atomic.Bool // the server did, rather than the connection failing
}

type attemptKey struct{}

// TagRPC implements stats.Handler. It is called for each attempt.
func (attempts) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	if a, ok := ctx.Value(answersKey{}).(*answers); ok {
		return context.WithValue(ctx, attemptKey{}, &attempt{answers: a})
	}
	return ctx
}

// HandleRPC implements stats.Handler.
func (attempts) HandleRPC(ctx context.Context, event stats.RPCStats) {
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return
	}
	switch e := event.(type) {
	case *stats.InTrailer:
		a.answered.Store(true)
	case *stats.End:
		if e.Error != nil && a.answered.Load() {
			a.answers.add(e.Error)
		}
	}
}

// TagConn implements stats.Handler.
func (attempts) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (attempts) HandleConn(context.Context, stats.ConnStats) {}
