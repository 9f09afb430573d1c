package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/httpjson"
	"github.com/gsimc/gsimc/server/internal/inprocess"
	"github.com/gsimc/gsimc/server/internal/origin"
	"github.com/gsimc/gsimc/server/internal/tracing"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// Bounds of the JSON side, besides those that it shares.
const (
	jsonBodyTime = 10 * time.Second
	maxDecoded   = 64 << 20
)

// jsonSide serves the methods of clients as JSON over HTTP. Calls pass the same doors, gate and
// interceptors as by gRPC, but no connection. Bodies pass the gate, too, and answers that are not
// read count with the connection of their request.
type jsonSide struct {
	calls   *inprocess.Conn
	handler http.Handler // of the listener below, and of the console
	http    *http.Server // serves only where there is a listener
}

// newJSON makes the JSON side; nil if neither clients nor the console want it.
func (s *Server) newJSON() (*jsonSide, error) {
	if s.cfg.JSONListen == "" && !s.cfg.servesConsole() {
		return nil, nil
	}
	deps := inprocess.Deps{Peer: doors.InProcess,
		Admit: func(ctx context.Context, method string) (context.Context, error) {
			return s.chain.Tap(ctx, s.gate, method)
		},
		Unary: s.chain.Unary(), Stream: s.chain.Streams(), Codec: wire.NewCodec(valid.Limits),
		MaxRequest: s.cfg.MaxRecvBytes, MaxMessage: s.cfg.MaxSendBytes}
	if s.cfg.Tracer != nil {
		deps.Trace = tracing.Handler(s.cfg.Tracer, calls.Traced)
	}
	j := &jsonSide{calls: inprocess.New(deps)}
	s.services.register(j.calls)
	handler, err := httpjson.NewHandler(context.Background(), j.calls, httpjson.Limits{
		Gate: s.gate, Body: s.cfg.MaxRecvBytes, BodyTime: jsonBodyTime, Decoded: maxDecoded,
		Known: s.doors.Knows, Metadata: certificateName})
	if err != nil {
		return nil, err
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

// serve serves on a listener until it is closed.
func (j *jsonSide) serve(l net.Listener) error {
	if j.http.TLSConfig != nil {
		return j.http.ServeTLS(l, "", "")
	}
	return j.http.Serve(l)
}

// drain lets requests in flight finish. A nil side has none.
func (j *jsonSide) drain() {
	if j == nil {
		return
	}
	_ = j.http.Shutdown(context.Background()) // the error of a listener that is closed already
	j.calls.Drain()
}

// stop ends requests in flight.
func (j *jsonSide) stop() {
	if j == nil {
		return
	}
	_ = j.http.Close() // as above
	j.calls.Stop()
}
