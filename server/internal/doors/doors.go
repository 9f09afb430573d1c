// Package doors decides who may call a gRPC server, and protects the calls on their way: roles of
// methods, tokens of clients, certificates.
//
// Each method needs one [Role]. A client shows a token in the
// metadata "authorization: Bearer TOKEN"; a file has the SHA-256 of each token and its roles. The
// tokens and the certificates are read again when the content of their files changes: times and
// names of files do not matter, so that exchanged links are noticed too. A bad new file changes
// nothing, and is counted and logged once.
//
// Texts of this package never have a part of a token, or of a line of the file, in which a token
// may stand by mistake.
package doors

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/gsimc/gsimc/server/internal/watched"
)

// Poll is the interval at which files are read. A change is taken when two readings in a row agree,
// so it holds after two intervals at most.
const Poll = time.Second

// Files are those of a server's doors. An empty name: there is none.
type Files struct {
	Tokens    string // who may call, see [NewToken]; none: everybody may call everything
	Cert, Key string // PEM; both or none. None: plain text.
	ClientCA  string // PEM: clients need a certificate that is signed by one of these
}

// Doors are the doors of one server. Make them with [Open].
type Doors struct {
	// OnTokens, if not nil, is told that other tokens count from now on. It is set before Watch.
	OnTokens func()

	roles   map[string]Role             // of each method
	tokens  *watched.Files[*tokens]     // nil: everybody may call everything
	certs   *watched.Files[*tls.Config] // nil: plain text
	metrics *Metrics
}

// Open reads the files, which must be good now; later ones may be bad. The error is a fault of a
// field TokenFile, TLSCert, TLSKey or TLSClientCA. roles are those of the methods by their full
// names; now is the clock by which certificates are valid.
func Open(
	f Files, roles map[string]Role, now func() time.Time, log *slog.Logger, metrics *Metrics,
) (*Doors, error) {
	d := &Doors{roles: roles, metrics: metrics}
	var errs []error
	if f.Tokens != "" {
		d.tokens = &watched.Files[*tokens]{Name: "tokens",
			Paths: []watched.Path{{Field: "TokenFile", Name: f.Tokens}},
			Parse: parseTokenFile, Log: log, Reloaded: metrics.tokens}
		errs = append(errs, d.tokens.Open())
	}
	if f.Cert != "" {
		d.certs = &watched.Files[*tls.Config]{Name: "certificates",
			Paths: []watched.Path{{Field: "TLSCert", Name: f.Cert},
				{Field: "TLSKey", Name: f.Key}},
			Parse: func(texts [][]byte) (*tls.Config, error) {
				config, until, err := parseCertificates(texts, now())
				if err == nil {
					metrics.notAfter.Set(float64(until.Unix()))
				}
				return config, err
			},
			Log:      log,
			Reloaded: metrics.certificates}
		if f.ClientCA != "" {
			d.certs.Paths = append(d.certs.Paths,
				watched.Path{Field: "TLSClientCA", Name: f.ClientCA})
		}
		errs = append(errs, d.certs.Open())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return d, nil
}

// Watch takes changes of the files at this interval until ctx ends.
func (d *Doors) Watch(ctx context.Context, every time.Duration) {
	if d.tokens != nil {
		d.tokens.OnChange = d.OnTokens
	}
	var both sync.WaitGroup
	both.Go(func() { d.tokens.Watch(ctx, every) })
	both.Go(func() { d.certs.Watch(ctx, every) })
	both.Wait()
}

// Credentials are the transport security of the server: TLS 1.3 with the certificate of the moment
// of each handshake, so that connections outlive it. Nil: plain text.
func (d *Doors) Credentials() credentials.TransportCredentials {
	if d.certs == nil {
		return nil
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return d.certs.Get(), nil
		},
	})
}

// HTTPS is the configuration of an HTTP server behind the same door as [Doors.Credentials]. Nil:
// plain text.
func (d *Doors) HTTPS() *tls.Config {
	if d.certs == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			config := d.certs.Get().Clone()
			config.NextProtos = []string{"h2", "http/1.1"}
			return config, nil
		},
	}
}

// Guarded reports whether [Doors.Check] may refuse a call.
func (d *Doors) Guarded() bool { return d.tokens != nil }

// ErrUnauthenticated is the error of a call without a token that the server knows.
var ErrUnauthenticated = errors.New("doors: no token, or an unknown one")

// A DeniedError is the error of a call whose token lacks a role.
type DeniedError struct {
	Name string // of the token
	Role Role
}

// Error names both.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("doors: the token %s lacks the role %s", e.Name, e.Role)
}

// Check decides whether a call with the incoming metadata of ctx may go on. It reads no message. A
// method without a role needs a known token: a caller without one is not told which
// methods there are. It is safe for concurrent use.
func (d *Doors) Check(ctx context.Context, fullMethod string) error {
	if d.tokens == nil {
		return nil
	}
	role, known := d.roles[fullMethod]
	if known && role == Anybody {
		return nil
	}
	tokens := d.tokens.Get()
	at := tokens.find(tokenOf(ctx))
	switch {
	case at < 0:
		d.metrics.unauthenticated.Inc()
		return ErrUnauthenticated
	case known && !tokens.roles[at][role]:
		d.metrics.denied.Inc()
		return &DeniedError{tokens.names[at], role}
	}
	return nil
}

// Knows reports whether the values of the metadata "authorization" are those of a known token, or
// none is needed.
func (d *Doors) Knows(authorization []string) bool {
	if d.tokens == nil || d.tokens.Get().find(bearer(authorization)) >= 0 {
		return true
	}
	d.metrics.unauthenticated.Inc()
	return false
}

// Caller returns who makes a call: the name of the token, or else that in the certificate of the
// client. It is empty if nothing tells.
func (d *Doors) Caller(ctx context.Context) string {
	if d.tokens != nil {
		tokens := d.tokens.Get()
		if at := tokens.find(tokenOf(ctx)); at >= 0 {
			return tokens.names[at]
		}
	}
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	if p.Addr == InProcess {
		if names := metadata.ValueFromIncomingContext(ctx, CertificateHeader); len(names) == 1 {
			return names[0]
		}
		return ""
	}
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
		return CertificateName(&info.State)
	}
	return ""
}

// InProcess is the address of the peer of calls within this process: none from elsewhere has it.
var InProcess net.Addr = inProcess{}

type inProcess struct{}

// Network implements [net.Addr].
func (inProcess) Network() string { return "inprocess" }

// String implements [net.Addr].
func (inProcess) String() string { return "inprocess" }

// CertificateHeader is the header by which the JSON side, which ends TLS itself, says what the
// client's certificate says. It is believed of calls within this process only.
const CertificateHeader = "gsimc-certificate"

// CertificateName is the name in the verified certificate of a client; empty: there is none. A nil
// state is plain text.
func CertificateName(state *tls.ConnectionState) string {
	if state == nil || len(state.VerifiedChains) == 0 {
		return ""
	}
	return state.VerifiedChains[0][0].Subject.CommonName
}

// tokenOf is the token of a call; empty: there is none, or more than one.
func tokenOf(ctx context.Context) string {
	return bearer(metadata.ValueFromIncomingContext(ctx, "authorization"))
}
