// Package inprocess makes gRPC calls of services of the same process, without a connection. A call
// is admitted, decoded, intercepted and traced as one that a [grpc.Server] receives, and its
// messages pass the codec of the server both ways, so that no side sees the memory of the other. A
// caller does not wait for a handler beyond the end of its context.
package inprocess

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// Deps are what calls meet on their way.
type Deps struct {
	Peer net.Addr // of all callers, as handlers see it
	// Admit returns the context of a call with these incoming metadata, or the error of one that is
	// refused. It is asked before anything else of the call is looked at, and must not wait.
	Admit                  func(ctx context.Context, method string) (context.Context, error)
	Unary                  grpc.UnaryServerInterceptor
	Stream                 grpc.StreamServerInterceptor
	Codec                  encoding.CodecV2 // of the services
	MaxRequest, MaxMessage int              // bytes of an encoded request, and of an answer
	Trace                  stats.Handler    // is told when calls begin and end; nil: nobody is
}

// Conn is what clients of the registered services call through. Make it with [New].
type Conn struct {
	deps    Deps
	unary   map[string]unary
	streams map[string]streaming

	stopped context.Context // ends the running calls
	stop    context.CancelFunc

	mu      sync.RWMutex
	closed  bool // no call begins any more
	running sync.WaitGroup
}

type unary struct {
	service any
	handler grpc.MethodHandler
}

type streaming struct {
	service any
	desc    grpc.StreamDesc
}

// New returns a connection to services, which are to be registered before the first call.
func New(d Deps) *Conn {
	c := &Conn{deps: d, unary: map[string]unary{}, streams: map[string]streaming{}}
	c.stopped, c.stop = context.WithCancel(context.Background())
	return c
}

// RegisterService implements [grpc.ServiceRegistrar].
func (c *Conn) RegisterService(desc *grpc.ServiceDesc, service any) {
	for _, m := range desc.Methods {
		c.unary["/"+desc.ServiceName+"/"+m.MethodName] = unary{service, m.Handler}
	}
	for _, s := range desc.Streams {
		c.streams["/"+desc.ServiceName+"/"+s.StreamName] = streaming{service, s}
	}
}

// Drain refuses new calls, and returns when the running calls have ended.
func (c *Conn) Drain() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.running.Wait()
}

// Stop ends the contexts of the running calls, and drains.
func (c *Conn) Stop() {
	c.stop()
	c.Drain()
}

var errClosed = status.Error(codes.Unavailable, "the server is stopping")

// A call is one that is under way. It implements [grpc.ServerTransportStream], for the goroutine of
// the handler and until its first answer.
type call struct {
	conn            *Conn
	method          string
	ctx             context.Context // of the handler
	header, trailer metadata.MD

	cancel context.CancelFunc
	forget func() bool // ends the waiting for Stop
}

// begin begins a call, which has to be ended if there is no error.
func (c *Conn) begin(ctx context.Context, method string) (*call, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch {
	case c.closed:
		return nil, errClosed
	case ctx.Err() != nil:
		return nil, asStatus(ctx.Err())
	}
	sent, _ := metadata.FromOutgoingContext(ctx) // a copy
	ctx = metadata.NewIncomingContext(metadata.NewOutgoingContext(ctx, nil), sent)
	ctx, cancel := context.WithCancel(peer.NewContext(ctx, &peer.Peer{Addr: c.deps.Peer}))
	r := &call{conn: c, method: method, cancel: cancel,
		forget: context.AfterFunc(c.stopped, cancel)}
	admitted, err := c.deps.Admit(ctx, method)
	if err != nil {
		r.forget()
		cancel()
		return nil, err
	}
	r.ctx = grpc.NewContextWithServerTransportStream(admitted, r)
	if c.deps.Trace != nil {
		r.ctx = c.deps.Trace.TagRPC(r.ctx, &stats.RPCTagInfo{FullMethodName: method})
	}
	r.note(&stats.Begin{BeginTime: time.Now()})
	c.running.Add(1)
	return r, nil
}

// end ends a call, whose handler has returned this error.
func (r *call) end(err error) {
	r.note(&stats.End{EndTime: time.Now(), Error: err})
	r.forget()
	r.cancel()
	r.conn.running.Done()
}

func (r *call) note(what stats.RPCStats) {
	if r.conn.deps.Trace != nil {
		r.conn.deps.Trace.HandleRPC(r.ctx, what)
	}
}

// Invoke implements [grpc.ClientConnInterface].
func (c *Conn) Invoke(
	ctx context.Context, method string, req, answer any, options ...grpc.CallOption,
) error {
	m, known := c.unary[method]
	if !known {
		return status.Errorf(codes.Unimplemented, "unknown method %s", method)
	}
	asked, err := clients.Marshal(req)
	if err != nil {
		return asStatus(err)
	}
	r, err := c.begin(ctx, method)
	if err != nil {
		return err
	}
	ended := make(chan outcome, 1)
	go func() { ended <- r.handle(m, asked) }()
	select {
	case o := <-ended:
		for _, option := range options {
			switch option := option.(type) {
			case grpc.HeaderCallOption:
				*option.HeaderAddr = r.header
			case grpc.TrailerCallOption:
				*option.TrailerAddr = r.trailer
			}
		}
		if o.err != nil {
			return o.err
		}
		defer o.data.Free()
		return asStatus(clients.Unmarshal(o.data, answer))
	case <-ctx.Done(): // what the handler says is left to the collector
		return asStatus(ctx.Err())
	}
}

// outcome is what a handler answers, encoded, or its error.
type outcome struct {
	data mem.BufferSlice
	err  error
}

// handle calls the handler of an encoded request.
func (r *call) handle(m unary, asked mem.BufferSlice) (o outcome) {
	defer func() { r.end(o.err) }()
	answer, err := m.handler(m.service, r.ctx,
		func(into any) error { return r.decode(asked, into) }, r.conn.deps.Unary)
	if err == nil {
		o.data, err = r.encode(answer)
	}
	o.err = asStatus(err)
	return o
}

// asStatus is an error as gRPC sends it; nil: there is none.
func asStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}

// Method implements [grpc.ServerTransportStream].
func (r *call) Method() string { return r.method }

// SetHeader implements [grpc.ServerTransportStream].
func (r *call) SetHeader(md metadata.MD) error {
	r.header = metadata.Join(r.header, md)
	return nil
}

// SendHeader implements [grpc.ServerTransportStream].
func (r *call) SendHeader(md metadata.MD) error { return r.SetHeader(md) }

// SetTrailer implements [grpc.ServerTransportStream].
func (r *call) SetTrailer(md metadata.MD) error {
	r.trailer = metadata.Join(r.trailer, md)
	return nil
}

// RecvCompress is the compression of the request.
func (*call) RecvCompress() string { return "" }
