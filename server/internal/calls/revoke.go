package calls

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
)

// liveStream is a stream of a method whose caller showed a token, with the error that the token has
// got. Those end whose token counts no more: a stream may be open for long. That of a token which
// is bound to a user takes messages about that user only.
type liveStream struct {
	grpc.ServerStream
	chain  *Chain
	ctx    context.Context
	end    context.CancelFunc
	method string
	err    atomic.Pointer[error] // nil: it counts
}

// Context ends with the token.
func (l *liveStream) Context() context.Context { return l.ctx }

// RecvMsg implements grpc.ServerStream. Handlers that wait for messages only get none any more.
func (l *liveStream) RecvMsg(m any) error {
	if err := l.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if err := l.ctx.Err(); err != nil {
		return err
	}
	return l.chain.checkUser(l.ctx, l.method, m)
}

// whileAllowed runs a stream, which ends with the error of the doors once they would refuse it.
func (c *Chain) whileAllowed(
	stream grpc.ServerStream, method string, run func(grpc.ServerStream) error,
) error {
	ctx, end := context.WithCancel(stream.Context())
	defer end()
	l := &liveStream{ServerStream: stream, chain: c, ctx: ctx, end: end, method: method}
	c.live.Store(l, nil)
	defer c.live.Delete(l)
	c.look(l) // the tokens may have changed since the headers came
	err := run(l)
	if revoked := l.err.Load(); revoked != nil {
		return *revoked
	}
	return err
}

// tokensChanged ends the streams whose tokens count no more.
func (c *Chain) tokensChanged() {
	for l := range c.live.Range {
		c.look(l.(*liveStream))
	}
}

// look ends a stream that the doors would refuse.
func (c *Chain) look(l *liveStream) {
	if l.err.Load() != nil { // it has been told, and its handler has not ended yet
		return
	}
	if err := c.Doors.Check(l.ctx, l.method); err != nil {
		l.err.Store(&err)
		l.end()
	}
}
