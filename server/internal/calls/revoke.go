package calls

import (
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"
)

// liveStreams are the streams whose callers showed a token. When the tokens change, those end whose
// token counts no more: a stream may be open for long.
type liveStreams struct {
	mu   sync.Mutex
	open map[*liveStream]struct{}
}

// liveStream is a stream of a method, with the error that its token has got.
type liveStream struct {
	grpc.ServerStream
	ctx    context.Context
	end    context.CancelFunc
	method string
	err    error // guarded by liveStreams
}

// Context ends with the token.
func (l *liveStream) Context() context.Context { return l.ctx }

// RecvMsg implements grpc.ServerStream. Handlers that wait for messages only get none any more.
func (l *liveStream) RecvMsg(m any) error {
	if err := l.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return l.ctx.Err()
}

// whileAllowed runs a stream, which ends with the error of the doors once they would refuse it.
func (c *Chain) whileAllowed(
	stream grpc.ServerStream, method string, run func(grpc.ServerStream) error,
) error {
	ctx, end := context.WithCancel(stream.Context())
	defer end()
	l := &liveStream{ServerStream: stream, ctx: ctx, end: end, method: method}
	c.streams.add(l)
	c.look(l) // the tokens may have changed since the headers came
	err := run(l)
	if revoked := c.streams.remove(l); revoked != nil {
		return revoked
	}
	return err
}

// tokensChanged ends the streams whose tokens count no more.
func (c *Chain) tokensChanged() {
	for _, l := range c.streams.all() {
		c.look(l)
	}
}

// look ends a stream that the doors would refuse.
func (c *Chain) look(l *liveStream) {
	if err := c.Doors.Check(l.ctx, l.method); err != nil {
		c.streams.revoke(l, err)
		l.end()
	}
}

func (s *liveStreams) add(l *liveStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*liveStream]struct{}{}
	}
	s.open[l] = struct{}{}
}

// remove returns the error with which a stream was revoked, nil if it was not.
func (s *liveStreams) remove(l *liveStream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, l)
	return l.err
}

func (s *liveStreams) all() []*liveStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.open))
}

func (s *liveStreams) revoke(l *liveStream, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.err = err
}
