// Package doors decides who may call a gRPC server, and protects the calls on their way: roles of
// methods, tokens of clients, certificates.
//
// Each method needs one [Role]. A client shows a token in the metadata "authorization: Bearer
// TOKEN". The lines of a file say which tokens count, and their roles: a line has the SHA-256 of a
// token, or names an issuer of signed tokens (JWT, RFC 7519), whose public keys the server reads.
// The tokens and the certificates are read again when the content of their files changes: times and
// names of files do not matter, so that exchanged links are noticed too. A bad new file changes
// nothing, and is counted and logged once.
//
// Texts of this package never have a part of a token, or of a line of the file, in which a token
// may stand by mistake. The log has the names of lines, of their issuers and of their claims.
package doors

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"
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
	issuers *issuers                    // of signed tokens
	certs   *watched.Files[*tls.Config] // nil: plain text
	now     func() time.Time
	metrics *Metrics
}

// Open reads the files, which must be good now; later ones may be bad. The error is a fault of a
// field TokenFile, TLSCert, TLSKey or TLSClientCA. roles are those of the methods by their full
// names; now is the clock by which certificates and signed tokens are valid.
func Open(
	f Files, roles map[string]Role, now func() time.Time, log *slog.Logger, metrics *Metrics,
) (*Doors, error) {
	d := &Doors{roles: roles, issuers: newIssuers(now, log, metrics.keys), now: now,
		metrics: metrics}
	var errs []error
	if f.Tokens != "" {
		d.tokens = &watched.Files[*tokens]{Name: "tokens",
			Paths: []watched.Path{{Field: "TokenFile", Name: f.Tokens}},
			Parse: func(texts [][]byte) (*tokens, error) {
				return parseTokenFile(texts[0], d.issuers)
			},
			Log: log, Reloaded: metrics.tokens}
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

// Watch takes changes of the files at this interval until ctx ends. It reads the keys of issuers,
// and tells of signed tokens that may have ended.
func (d *Doors) Watch(ctx context.Context, every time.Duration) {
	if d.tokens != nil {
		d.tokens.OnChange = d.OnTokens
	}
	var all sync.WaitGroup
	all.Go(func() { d.tokens.Watch(ctx, every) })
	all.Go(func() { d.certs.Watch(ctx, every) })
	all.Go(func() { d.watchIssuers(ctx, every) })
	all.Wait()
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

// Guarded reports whether calls may be refused here.
func (d *Doors) Guarded() bool { return d.tokens != nil }

// Enter decides whether a call with the incoming metadata of ctx may begin, and counts it against
// the limit of its token. It reads no message. A method without a role needs a known token: a
// caller without one is not told which methods there are. The context that it returns is that of
// the call. It is safe for concurrent use, and waits for nothing.
func (d *Doors) Enter(ctx context.Context, fullMethod string) (context.Context, error) {
	who, err := d.look(ctx, fullMethod)
	if err == nil && who != nil && !who.rates.take(who.subject, d.now) {
		err = ErrRateLimit
	}
	if d.metrics.refused(err); err == nil && who != nil && who.user != "" {
		ctx = context.WithValue(ctx, userKey{}, who.user)
	}
	return ctx, err
}

// Check decides whether a call that has entered may go on. ctx is that of the call.
func (d *Doors) Check(ctx context.Context, fullMethod string) error {
	who, err := d.look(ctx, fullMethod)
	if err == nil && who != nil && who.user != OnlyUser(ctx) {
		err = ErrOtherUser
	}
	d.metrics.refused(err)
	return err
}

// CheckUser decides whether a call that has entered may go on with a message about a user; empty:
// it is about nobody. self says whether the method is one for tokens that are bound to a user.
func (d *Doors) CheckUser(ctx context.Context, self bool, about string) error {
	only := OnlyUser(ctx)
	if only == "" || self && (about == "" || about == only) {
		return nil
	}
	d.metrics.refused(ErrOtherUser)
	return ErrOtherUser
}

// look returns the caller of a call that may go on; nil: nobody needs to be known.
func (d *Doors) look(ctx context.Context, fullMethod string) (*caller, error) {
	if d.tokens == nil {
		return nil, nil
	}
	role, known := d.roles[fullMethod]
	if known && role == Anybody {
		return nil, nil
	}
	who, err := d.tokens.Get().find(tokenOf(ctx), d.now)
	if err == nil && known && !who.roles[role] {
		return nil, &DeniedError{who.name, role}
	}
	return who, err
}

// Knows returns nil if the values of the metadata "authorization" are those of a known token, or
// none is needed.
func (d *Doors) Knows(authorization []string) error {
	if d.tokens == nil {
		return nil
	}
	_, err := d.tokens.Get().find(bearer(authorization), d.now)
	d.metrics.refused(err)
	return err
}

// NewUsers returns the limit of the users who may begin a history by a call; nil: any number may.
// It is that of the token file as it is now: a stream asks at each write. By a token that the file
// has no more nobody may.
func (d *Doors) NewUsers(ctx context.Context) *rate.Limiter {
	if d.tokens == nil {
		return nil
	}
	all := d.tokens.Get()
	if !all.newUsers {
		return nil
	}
	who, err := all.find(tokenOf(ctx), d.now)
	if err != nil {
		return &rate.Limiter{}
	}
	return who.newUsers.of(who.subject, d.now)
}

// userKey is the key of the only user that a call may be about.
type userKey struct{}

// OnlyUser is the user whom the token of a call is bound to; empty: it is bound to nobody. The
// context is one of [Doors.Enter].
func OnlyUser(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// Caller returns who makes a call: the name of the token's line and, of a signed token, its
// subject; or else the name in the certificate of the client. They are empty if nothing tells.
func (d *Doors) Caller(ctx context.Context) (name, subject string) {
	if d.tokens != nil {
		if who, err := d.tokens.Get().find(tokenOf(ctx), d.now); err == nil {
			return who.name, who.subject
		}
	}
	return certificateOf(ctx), ""
}

// certificateOf is the name in the certificate of the client of a call; empty: there is none.
func certificateOf(ctx context.Context) string {
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
