package inprocess_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/inprocess"
)

const most = 1 << 10 // bytes of a message

// service answers with what it has heard: the name of the service says what it does.
type service struct {
	healthpb.UnimplementedHealthServer

	begun, release chan struct{}
}

func (s *service) Check(
	ctx context.Context, req *healthpb.HealthCheckRequest,
) (*healthpb.HealthCheckResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	_ = grpc.SetHeader(ctx, metadata.Pairs("heard", strings.Join(md["said"], "+")))
	_ = grpc.SetTrailer(ctx, metadata.Pairs("last", "of all"))
	switch req.GetService() {
	case "fails":
		return nil, status.Error(codes.NotFound, "there is none")
	case "fails without a status":
		return nil, errors.New("some error")
	case "waits":
		s.begun <- struct{}{}
		select {
		case <-s.release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "hangs":
		s.begun <- struct{}{}
		<-s.release
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func (s *service) List(
	context.Context, *healthpb.HealthListRequest,
) (*healthpb.HealthListResponse, error) { // larger than an answer may be
	return &healthpb.HealthListResponse{Statuses: map[string]*healthpb.HealthCheckResponse{
		strings.Repeat("x", most): {}}}, nil
}

func (s *service) Watch(
	req *healthpb.HealthCheckRequest, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse],
) error {
	_ = stream.SetHeader(metadata.Pairs("watched", req.GetService()))
	for i := range 3 {
		m := &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_ServingStatus(i)}
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	stream.SetTrailer(metadata.Pairs("last", "of all"))
	switch req.GetService() {
	case "fails":
		return status.Error(codes.DataLoss, "the rest is lost")
	case "waits":
		s.begun <- struct{}{}
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	return nil
}

// stamped are interceptors that say in the header that a call passed them.
func stamped(
	ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	_ = grpc.SetHeader(ctx, metadata.Pairs("passed", "unary"))
	return next(ctx, req)
}

func stampedStream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
) error {
	_ = stream.SetHeader(metadata.Pairs("passed", info.FullMethod))
	return next(srv, stream)
}

func admit(ctx context.Context, _ string) (context.Context, error) {
	if md, _ := metadata.FromIncomingContext(ctx); len(md["stranger"]) > 0 {
		return nil, status.Error(codes.Unauthenticated, "who are you?")
	}
	return ctx, nil
}

// ways returns two clients of a service: through a connection, and without one.
func ways(t *testing.T, s *service) (direct *inprocess.Conn, clients map[string]healthpb.HealthClient) {
	direct = inprocess.New(inprocess.Deps{Peer: &net.UnixAddr{Name: "here"}, Admit: admit,
		Unary: stamped, Stream: stampedStream, Codec: encoding.GetCodecV2(grpcproto.Name),
		MaxRequest: most, MaxMessage: most})
	healthpb.RegisterHealthServer(direct, s)
	server := grpc.NewServer(grpc.UnaryInterceptor(stamped), grpc.StreamInterceptor(stampedStream),
		grpc.MaxRecvMsgSize(most), grpc.MaxSendMsgSize(most),
		grpc.InTapHandle(func(ctx context.Context, i *tap.Info) (context.Context, error) {
			return admit(ctx, i.FullMethodName)
		}))
	healthpb.RegisterHealthServer(server, s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	go func() { _ = server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	check.Must(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		direct.Stop()
	})
	return direct, map[string]healthpb.HealthClient{
		"connection": healthpb.NewHealthClient(conn), "direct": healthpb.NewHealthClient(direct)}
}

// told is what a client gets to know of a call.
func told(err error, header, trailer metadata.MD, answers ...any) string {
	of := func(md metadata.MD, names ...string) (text string) {
		for _, n := range names { // without those of a connection
			text += fmt.Sprint(md[n])
		}
		return text
	}
	return fmt.Sprint(status.Code(err), of(header, "heard", "passed", "watched"),
		of(trailer, "last"), answers)
}

// A call is the same with a connection and without.
func TestCallsAreThoseOfAConnection(t *testing.T) {
	_, clients := ways(t, &service{})
	type call func(context.Context, healthpb.HealthClient) string
	ask := func(of string) call {
		return func(ctx context.Context, c healthpb.HealthClient) string {
			var header, trailer metadata.MD
			got, err := c.Check(ctx, &healthpb.HealthCheckRequest{Service: of},
				grpc.Header(&header), grpc.Trailer(&trailer))
			return told(err, header, trailer, got.GetStatus())
		}
	}
	watch := func(of string) call {
		return func(ctx context.Context, c healthpb.HealthClient) string {
			stream, err := c.Watch(ctx, &healthpb.HealthCheckRequest{Service: of})
			if err != nil {
				return told(err, nil, nil)
			}
			header, _ := stream.Header()
			var all []any
			for {
				m, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return told(nil, header, stream.Trailer(), all...)
				} else if err != nil {
					return told(err, header, stream.Trailer(), all...)
				}
				all = append(all, m.GetStatus())
			}
		}
	}
	stranger := func(call call) call {
		return func(ctx context.Context, c healthpb.HealthClient) string {
			return call(metadata.AppendToOutgoingContext(ctx, "stranger", "yes"), c)
		}
	}
	late := func(call call) call {
		return func(ctx context.Context, c healthpb.HealthClient) string {
			ctx, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
			defer cancel()
			return call(ctx, c)
		}
	}
	for name, call := range map[string]call{
		"answered": ask(""), "refused": ask("fails"), "no status": ask("fails without a status"),
		"too large": ask(strings.Repeat("x", most)), "stranger": stranger(ask("")),
		"too late": late(ask("")),
		"too large an answer": func(ctx context.Context, c healthpb.HealthClient) string {
			_, err := c.List(ctx, &healthpb.HealthListRequest{})
			return told(err, nil, nil)
		},
		"stream": watch(""), "stream with an error": watch("fails"),
		"stream of a stranger":   stranger(watch("")),
		"too large for a stream": watch(strings.Repeat("x", most)),
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "said", "a", "said", "b")
		want, got := call(ctx, clients["connection"]), call(ctx, clients["direct"])
		check.Same(t, want, got, "%s (-by a connection +direct)", name)
		t.Log(name, got)
	}
}

// A call ends for its caller at the first of two events: the end of the caller's context, and Stop.
// Its handler may go on. Drain waits for the handler.
func TestCallsEnd(t *testing.T) {
	s := &service{begun: make(chan struct{}), release: make(chan struct{})}
	waits := &healthpb.HealthCheckRequest{Service: "waits"}
	ask := func(ctx context.Context, c healthpb.HealthClient, what string) chan codes.Code {
		ended := make(chan codes.Code, 1)
		go func() {
			_, err := c.Check(ctx, &healthpb.HealthCheckRequest{Service: what})
			ended <- status.Code(err)
		}()
		<-s.begun
		return ended
	}
	start := func(ctx context.Context, c healthpb.HealthClient) chan codes.Code {
		return ask(ctx, c, "waits")
	}
	watch := func(ctx context.Context, c healthpb.HealthClient) chan codes.Code {
		ended := make(chan codes.Code, 1)
		stream, err := c.Watch(ctx, waits)
		check.Must(t, err)
		go func() {
			for ; err == nil; _, err = stream.Recv() {
			}
			ended <- status.Code(err)
		}()
		<-s.begun
		return ended
	}
	want := func(what string, ended chan codes.Code, code codes.Code) {
		t.Helper()
		check.Same(t, code, <-ended, "%s", what)
	}
	direct, clients := ways(t, s)
	c := clients["direct"]
	for what, begin := range map[string]func(context.Context, healthpb.HealthClient) chan codes.Code{
		"call": start, "stream": watch,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := begin(ctx, c)
		cancel()
		want(what+" whose caller goes", ended, codes.Canceled)
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
		want(what+" that takes too long", begin(ctx, c), codes.DeadlineExceeded)
		cancel()
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	want("call whose handler hangs", ask(ctx, c, "hangs"), codes.DeadlineExceeded)
	drained := make(chan struct{})
	go func() {
		direct.Drain()
		close(drained)
	}()
	for {
		_, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{})
		if status.Code(err) == codes.Unavailable {
			break
		}
	}
	select {
	case <-drained:
		t.Error("the drain does not wait for a handler")
	default:
	}
	close(s.release)
	<-drained

	stopped, clients := ways(t, s)
	s.release = make(chan struct{})
	c = clients["direct"]
	one, other := start(t.Context(), c), watch(t.Context(), c)
	stopped.Stop()
	want("call that is stopped", one, codes.Canceled)
	want("stream that is stopped", other, codes.Canceled)
}

// Handlers see the peer that the connection has been given, and clients reach no method that is not
// there.
func TestPeerAndMethods(t *testing.T) {
	var seen net.Addr
	direct := inprocess.New(inprocess.Deps{Peer: &net.UnixAddr{Name: "here"},
		Admit: func(ctx context.Context, _ string) (context.Context, error) {
			p, _ := peer.FromContext(ctx)
			seen = p.Addr
			return ctx, nil
		},
		Unary: stamped, Codec: encoding.GetCodecV2(grpcproto.Name), MaxRequest: most,
		MaxMessage: most})
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{}})
	_, err := healthpb.NewHealthClient(direct).Check(ctx, &healthpb.HealthCheckRequest{})
	check.Same(t, codes.Unimplemented, status.Code(err), "before it is registered")
	healthpb.RegisterHealthServer(direct, &service{})
	_, err = healthpb.NewHealthClient(direct).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil || seen.String() != "here" {
		t.Errorf("the peer is %v, %v", seen, err)
	}
}
