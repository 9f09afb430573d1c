package inprocess

import (
	"cmp"
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// clients is the codec of the clients.
var clients = encoding.GetCodecV2(grpcproto.Name)

// encode encodes an answer.
func (r *call) encode(answer any) (mem.BufferSlice, error) {
	data, err := r.conn.deps.Codec.Marshal(answer)
	if size := data.Len(); err == nil && size > r.conn.deps.MaxMessage {
		data.Free()
		return nil, status.Errorf(codes.ResourceExhausted,
			"the answer has %d bytes, of at most %d", size, r.conn.deps.MaxMessage)
	}
	return data, err
}

// decode decodes a request, and gives its memory back.
func (r *call) decode(asked mem.BufferSlice, into any) error {
	defer asked.Free()
	if size := asked.Len(); size > r.conn.deps.MaxRequest {
		return status.Errorf(codes.ResourceExhausted,
			"the request has %d bytes, of at most %d", size, r.conn.deps.MaxRequest)
	}
	return r.conn.deps.Codec.Unmarshal(asked, into)
}

// stream is a call that answers one message with several, one after the other: the next one is
// taken when the client asks for it. It is the stream of the client; see also [served].
type stream struct {
	*call

	of      streaming
	caller  context.Context
	request mem.BufferSlice
	begun   chan struct{} // closed when there is an answer, or the end
	answers chan mem.BufferSlice
	ended   chan struct{} // closed when the handler has returned err
	err     error
}

// NewStream implements [grpc.ClientConnInterface], for methods that take one message. The call ends
// some time after CloseSend only.
func (c *Conn) NewStream(
	ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	of, known := c.streams[method]
	if !known || of.desc.ClientStreams {
		return nil, status.Errorf(codes.Unimplemented, "no stream %s with one request", method)
	}
	r, err := c.begin(ctx, method)
	if err != nil {
		return nil, err
	}
	return &stream{call: r, of: of, caller: ctx, begun: make(chan struct{}),
		answers: make(chan mem.BufferSlice), ended: make(chan struct{})}, nil
}

// SendMsg implements [grpc.ClientStream].
func (s *stream) SendMsg(m any) (err error) {
	s.request, err = clients.Marshal(m)
	return asStatus(err)
}

// CloseSend implements [grpc.ClientStream]. The handler begins.
func (s *stream) CloseSend() error {
	go func() {
		info := &grpc.StreamServerInfo{FullMethod: s.method, IsServerStream: true}
		on := &served{stream: s}
		s.err = asStatus(s.conn.deps.Stream(s.of.service, on, info, s.of.desc.Handler))
		on.begin()
		close(s.ended)
		s.end(s.err)
	}()
	return nil
}

// Header implements [grpc.ClientStream]. RecvMsg has the error of a call without one.
func (s *stream) Header() (metadata.MD, error) {
	select {
	case <-s.begun:
		return s.header, nil
	case <-s.caller.Done():
		return nil, nil
	}
}

// RecvMsg implements [grpc.ClientStream].
func (s *stream) RecvMsg(m any) error {
	select {
	case data := <-s.answers:
		defer data.Free()
		return asStatus(clients.Unmarshal(data, m))
	case <-s.ended:
	case <-s.caller.Done():
		return asStatus(s.caller.Err())
	}
	return cmp.Or(s.err, io.EOF)
}

// Trailer implements [grpc.ClientStream].
func (s *stream) Trailer() metadata.MD {
	select {
	case <-s.ended:
		return s.trailer
	default: // the handler may write it yet
		return nil
	}
}

// Context implements [grpc.ClientStream].
func (s *stream) Context() context.Context { return s.caller }

// served is the stream of the handler.
type served struct {
	*stream

	asked bool // the request has been read
	sends bool // the header is the client's to read
}

var errLate = errors.New("inprocess: the header has gone")

// SetHeader implements [grpc.ServerStream].
func (s *served) SetHeader(md metadata.MD) error {
	if s.sends {
		return errLate
	}
	return s.call.SetHeader(md)
}

// SendHeader implements [grpc.ServerStream].
func (s *served) SendHeader(md metadata.MD) error {
	err := s.SetHeader(md)
	s.begin()
	return err
}

// SetTrailer implements [grpc.ServerStream].
func (s *served) SetTrailer(md metadata.MD) { _ = s.call.SetTrailer(md) } // never fails

// Context implements [grpc.ServerStream].
func (s *served) Context() context.Context { return s.ctx }

func (s *served) begin() {
	if !s.sends {
		s.sends = true
		close(s.begun)
	}
}

// RecvMsg implements [grpc.ServerStream].
func (s *served) RecvMsg(m any) error {
	if s.asked {
		return io.EOF
	}
	s.asked = true
	return s.decode(s.request, m)
}

// SendMsg implements [grpc.ServerStream].
func (s *served) SendMsg(m any) error {
	data, err := s.encode(m)
	if err != nil {
		return err
	}
	s.begin()
	select {
	case s.answers <- data:
		return nil
	case <-s.ctx.Done():
		data.Free()
		return asStatus(s.ctx.Err())
	}
}
