package server

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/test/bufconn"

	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/httpjson"
	"github.com/gsimc/gsimc/server/internal/origin"
	"github.com/gsimc/gsimc/server/internal/socket"
)

// inProcess is the address of what only this process reaches.
const inProcess = socket.UnixPrefix

// Bounds of the JSON side, besides those that it shares.
const (
	jsonBodyTime  = 10 * time.Second
	maxDecoded    = 64 << 20
	jsonPipeBytes = 256 << 10
)

// jsonSide serves the methods of clients as JSON over HTTP. It reaches the services through a gRPC
// server of its own in this process: calls pass the same doors, gate and interceptors, but neither
// TLS once more nor the limit of calls of a single connection. Bodies pass the gate, too, and
// answers that are not read count with their connection.
type jsonSide struct {
	grpc    *grpc.Server
	pipe    *bufconn.Listener
	conn    *grpc.ClientConn
	handler http.Handler // of the listener below, and of the console
	http    *http.Server // serves only where there is a listener
}

// newJSON makes the JSON side; nil if neither clients nor the console want it.
func (s *Server) newJSON() (*jsonSide, error) {
	if s.cfg.JSONListen == "" && !s.cfg.servesConsole() {
		return nil, nil
	}
	j := &jsonSide{pipe: bufconn.Listen(jsonPipeBytes)}
	j.grpc = grpc.NewServer(append(s.grpcOptions(inProcess, s.gate),
		grpc.MaxConcurrentStreams(math.MaxUint32),
		grpc.KeepaliveParams(keepalive.ServerParameters{}))...) // of any age: it has calls of all
	s.services.register(j.grpc)
	var err error
	j.conn, err = grpc.NewClient("passthrough:///json",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return j.pipe.DialContext(ctx)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(s.cfg.MaxSendBytes)))
	if err != nil {
		return nil, err
	}
	handler, err := httpjson.NewHandler(context.Background(), j.conn, httpjson.Limits{
		Gate: s.gate, Body: s.cfg.MaxRecvBytes, BodyTime: jsonBodyTime, Decoded: maxDecoded,
		Known: s.doors.Knows, Metadata: certificateName})
	if err != nil {
		return nil, errors.Join(err, j.conn.Close())
	}
	j.handler = handler
	j.http = &http.Server{
		Handler:           httpjson.EndUnread(s.cfg.jsonPages().Handler(j.handler)),
		ReadHeaderTimeout: handshakeTimeout,
		IdleTimeout:       maxConnectionIdle,
		MaxHeaderBytes:    maxHeaderBytes,
		TLSConfig:         s.doors.HTTPS(),
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext:       withPeer,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: int(s.cfg.MaxConcurrentStreams)},
	}
	return j, nil
}

// jsonPages says which pages may call by JSON. Where anybody may call without a token or
// certificate because only this machine can, foreign pages must not come by the browsers on it.
func (c *Config) jsonPages() origin.Policy {
	proved := c.TokenFile != "" || c.TLSClientCA != ""
	return origin.Policy{Origins: c.JSONOrigins, AnyHost: proved || !onThisMachine(c.JSONListen),
		Refuse: httpjson.RefusePage}
}

// certificateName is the metadata that names the certificate of a client.
func certificateName(r *http.Request) metadata.MD {
	return metadata.Pairs(doors.CertificateHeader, doors.CertificateName(r.TLS))
}

// withPeer tells a request its connection as gRPC does.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	return peer.NewContext(ctx, &peer.Peer{Addr: c.RemoteAddr()})
}

// serve serves on a listener until one of the two servers ends. Nil: only the console asks.
func (j *jsonSide) serve(l net.Listener) error {
	if l == nil {
		return j.grpc.Serve(j.pipe)
	}
	failed := make(chan error, 2)
	go func() { failed <- j.grpc.Serve(j.pipe) }()
	go func() {
		if j.http.TLSConfig != nil {
			failed <- j.http.ServeTLS(l, "", "")
		} else {
			failed <- j.http.Serve(l)
		}
	}()
	return <-failed
}

// drain lets requests in flight finish. A nil side has none.
func (j *jsonSide) drain() {
	if j == nil {
		return
	}
	_ = j.http.Shutdown(context.Background()) // the error of a listener that is closed already
	j.grpc.GracefulStop()
	_ = j.conn.Close() // its calls have ended
}

// stop ends requests in flight.
func (j *jsonSide) stop() {
	if j == nil {
		return
	}
	_ = j.http.Close() // as above
	j.grpc.Stop()
	_ = j.conn.Close() // its calls have ended
}
