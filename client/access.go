package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gsimc/gsimc/internal/fault"
)

// Access says how calls are protected on their way, and who makes them.
type Access struct {
	TLS   *tls.Config // see [LoadTLS]; nil: plain text
	Token Token       // as `gsimc token` drew it; empty: none. Other machines need TLS for it.
	// TokenFile, if not empty, is where Token, which has to be set too, was read. It is read again
	// at each call, since tokens end: one that is bad by then, or is a pipe, changes nothing.
	TokenFile string
}

// Token is a secret. Every way of printing it hides it.
type Token string

const hidden = "[token]"

// String hides the token.
func (Token) String() string { return hidden }

// GoString hides the token from %#v.
func (Token) GoString() string { return hidden }

// LogValue implements [slog.LogValuer].
func (Token) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the token from encoders.
func (Token) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// ReadToken reads a token from the first line of a file; others may have its line for the server.
// The error is a [fault.Fault] of the field ClientTokenFile.
func ReadToken(path string) (Token, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", &fault.Fault{Field: "ClientTokenFile", Err: fault.PathError(err)}
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	if first = strings.TrimSpace(first); first == "" || strings.ContainsAny(first, " \t") {
		return "", &fault.Fault{Field: "ClientTokenFile",
			Problem: path + ": the first line is no token"}
	}
	return Token(first), nil
}

// TLSFiles are the files of [LoadTLS]; each may be absent.
type TLSFiles struct {
	CA         string // PEM: authorities to trust. Empty: those of the system.
	ServerName string // name in the certificate of the server. Empty: the host of the address.
	Cert, Key  string // PEM: certificate of the client and its key, read at each handshake
}

// LoadTLS returns a configuration for TLS 1.3. The error is a [fault.Fault] of the field TLSCA,
// ClientCert or ClientKey.
func LoadTLS(f TLSFiles) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: f.ServerName}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, &fault.Fault{Field: "TLSCA", Err: fault.PathError(err)}
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, &fault.Fault{Field: "TLSCA",
				Problem: f.CA + ": there is no certificate in the file"}
		}
	}
	switch {
	case f.Cert != "" && f.Key == "":
		return nil, &fault.Fault{Field: "ClientCert", Problem: "goes with a key",
			Advice: []fault.Change{{Verb: "set", Field: "ClientKey"}}}
	case f.Cert == "" && f.Key != "":
		return nil, &fault.Fault{Field: "ClientKey", Problem: "goes with a certificate",
			Advice: []fault.Change{{Verb: "set", Field: "ClientCert"}}}
	case f.Cert != "":
		if _, err := tls.LoadX509KeyPair(f.Cert, f.Key); err != nil {
			return nil, &fault.Fault{Field: "ClientCert", Err: fault.PathError(err)}
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
			return &pair, err
		}
	}
	return config, nil
}

// DialOptions are those of a connection to an address. It is a [fault.Fault] of the field Token to
// send a token in plain text to another machine.
func (a Access) DialOptions(address string) ([]grpc.DialOption, error) {
	options := []grpc.DialOption{grpc.WithTransportCredentials(a.credentials())}
	if a.Token == "" {
		return options, nil
	}
	if a.TLS == nil && !onThisMachine(address) {
		return nil, &fault.Fault{Field: "Token",
			Problem: "anybody on the way to " + address + " could read it",
			Advice:  []fault.Change{{Verb: "use", Field: "TLS"}}}
	}
	b := &bearer{file: a.TokenFile, secure: a.TLS != nil}
	b.token.Store(a.Token)
	return append(options, grpc.WithPerRPCCredentials(b)), nil
}

func (a Access) credentials() credentials.TransportCredentials {
	if a.TLS == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(a.TLS)
}

// bearer adds the token to each call.
type bearer struct {
	token  atomic.Value // of type Token
	file   string       // see [Access]
	secure bool
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b *bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if b.file != "" {
		b.readAgain()
	}
	return map[string]string{"authorization": "Bearer " + string(b.token.Load().(Token))}, nil
}

// readAgain takes the token that the file has now.
func (b *bearer) readAgain() {
	if info, err := os.Stat(b.file); err != nil || !info.Mode().IsRegular() {
		return
	}
	if token, err := ReadToken(b.file); err == nil {
		b.token.Store(token)
	}
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (b *bearer) RequireTransportSecurity() bool { return b.secure }

// watching tells a client of handshakes that failed.
type watching struct {
	credentials.TransportCredentials
	failed func(error)
}

// ClientHandshake implements credentials.TransportCredentials.
func (w watching) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		w.failed(err)
	}
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (w watching) Clone() credentials.TransportCredentials {
	return watching{w.TransportCredentials.Clone(), w.failed}
}

// unixPrefix begins the address of a socket in the file system.
const unixPrefix = "unix:"

// onThisMachine reports whether what is sent to an address stays on this machine.
func onThisMachine(address string) bool {
	if strings.HasPrefix(address, unixPrefix) {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return err == nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
