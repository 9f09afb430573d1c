package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
)

const secret = Token("gsimc_canary")

// No way of printing a token shows it, alone or as a part of options.
func TestTokenIsHidden(t *testing.T) {
	access := Access{Token: secret}
	var logs bytes.Buffer
	slog.New(slog.NewJSONHandler(&logs, nil)).Info("x", "token", secret, "access", access)
	slog.New(slog.NewTextHandler(&logs, nil)).Info("x", "token", secret, "access", access)
	asJSON := check.Get(json.Marshal(map[string]any{"token": secret, "options": access.Token}))(t)
	for _, text := range []string{fmt.Sprint(secret), fmt.Sprintf("%v %+v %#v %s %q", secret, secret,
		secret, secret, secret), fmt.Sprintf("%v %+v %#v", access, access, access), string(asJSON),
		logs.String()} {
		check.Lacks(t, text, "canary", "a token as text")
	}
}

func TestReadToken(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]Token{"gsimc_x": "gsimc_x", "gsimc_x\n": "gsimc_x",
		"\ufeffgsimc_x \r\nweb recommend 00\n": "gsimc_x", "": "", "\ngsimc_x": "",
		"web recommend 00\n": ""} {
		got, err := ReadToken(certtest.Write(t, dir, "token", []byte(text)))
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q gives %q, %v", text, string(got), err)
		}
	}
	if _, err := ReadToken(filepath.Join(dir, "absent")); err == nil ||
		!strings.HasPrefix(err.Error(), "ClientTokenFile: ") {
		t.Errorf("no file: %v", err)
	}
}

// A token goes to other machines through TLS only.
func TestTokensInPlainText(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true,
		"unix:/run/x": true, "10.0.0.7:1": false, "example.org:1": false, ":1": false} {
		_, err := Dial(Options{Address: address, Access: Access{Token: secret}})
		if (err == nil) != ok || err != nil && (!strings.HasPrefix(err.Error(), "Token: ") ||
			strings.Contains(err.Error(), "canary")) {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := Dial(Options{Address: address, Access: Access{Token: secret,
			TLS: &tls.Config{}}}); err != nil {
			t.Errorf("%s with TLS: %v", address, err)
		}
	}
}

// secured serves health with a certificate, on the loopback or on a socket, and tells the metadata
// of calls.
func secured(t *testing.T, network, at string, options ...grpc.ServerOption) (address string,
	authorization func() []string) {
	t.Helper()
	listener := check.Get(net.Listen(network, at))(t)
	var got []string
	g := grpc.NewServer(append(options, grpc.UnaryInterceptor(func(ctx context.Context, req any,
		_ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		got = metadata.ValueFromIncomingContext(ctx, "authorization")
		return next(ctx, req)
	}))...)
	healthpb.RegisterHealthServer(g, health.NewServer())
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	return listener.Addr().String(), func() []string { return got }
}

// askHealth makes one call with a client of these options and explains its error.
func askHealth(t *testing.T, opt Options) error {
	t.Helper()
	opt.Timeout = 20 * time.Second
	c, err := Dial(opt)
	check.Must(t, err)
	defer c.Close()
	_, err = healthpb.NewHealthClient(c.Conn()).Check(t.Context(), &healthpb.HealthCheckRequest{})
	return c.Explain(err)
}

// A client trusts the authority that it is told to, shows its certificate and its token, and says
// what is wrong with the certificate of the server.
func TestTLSAndToken(t *testing.T) {
	dir, a, stranger := t.TempDir(), certtest.NewAuthority(t), certtest.NewAuthority(t)
	until := time.Now().Add(time.Hour)
	pair, mine := a.Issue(t, 1, until), a.Issue(t, 2, until)
	server := check.Get(tls.X509KeyPair(pair.Cert, pair.Key))(t)
	ca := certtest.Write(t, dir, "ca", a.PEM)
	trusted, err := LoadTLS(TLSFiles{CA: ca, Cert: certtest.Write(t, dir, "cert", mine.Cert),
		Key: certtest.Write(t, dir, "key", mine.Key)})
	check.Must(t, err)
	address, authorization := secured(t, "tcp", "127.0.0.1:0",
		grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13,
			Certificates: []tls.Certificate{server}, ClientCAs: trusted.RootCAs,
			ClientAuth: tls.RequireAndVerifyClientCert})))
	check.Pass(t, askHealth(t, Options{Address: address,
		Access: Access{TLS: trusted, Token: secret}}), "a call with everything")
	check.Same(t, []string{"Bearer " + string(secret)}, authorization(), "the metadata")
	other := check.Get(LoadTLS(TLSFiles{CA: certtest.Write(t, dir, "other", stranger.PEM)}))(t)
	named := check.Get(LoadTLS(TLSFiles{CA: ca, ServerName: "example.org"}))(t)
	for want, config := range map[string]*tls.Config{"unknown authority": other,
		"not example.org": named} {
		err := askHealth(t, Options{Address: address, Access: Access{TLS: config}})
		if e := new(Error); !errors.As(err, &e) || e.Reason != Unreachable ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A client shows the token that its file has at the time of a call, or had when it was last good.
func TestTokenFileChanges(t *testing.T) {
	path := certtest.Write(t, t.TempDir(), "token", []byte("one\n"))
	address, authorization := secured(t, "tcp", "127.0.0.1:0")
	access := check.Get((&AccessFlags{ClientTokenFile: path}).Access())(t)
	c := check.Get(Dial(Options{Address: address, Access: access, Timeout: 20 * time.Second}))(t)
	defer c.Close()
	for _, step := range [][2]string{{"one\n", "one"}, {"two\n", "two"}, {"", "two"}} {
		check.Must(t, os.WriteFile(path, []byte(step[0]), 0o600))
		_, err := healthpb.NewHealthClient(c.Conn()).Check(t.Context(),
			&healthpb.HealthCheckRequest{})
		check.Must(t, err)
		check.Same(t, []string{"Bearer " + step[1]}, authorization(), "with %q in the file", step[0])
	}
	check.Must(t, os.Remove(path))
	check.Must(t, syscall.Mkfifo(path, 0o600)) // to read it would wait for a writer
	answered := make(chan error, 1)
	go func() {
		_, err := healthpb.NewHealthClient(c.Conn()).Check(t.Context(),
			&healthpb.HealthCheckRequest{})
		answered <- err
	}()
	select {
	case err := <-answered:
		check.Must(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("a call waits for a writer of the pipe")
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	secured(t, "unix", path)
	if err := askHealth(t, Options{Address: "unix:" + path, Access: Access{Token: secret}}); err != nil {
		t.Error(err)
	}
}

func TestBadTLSFiles(t *testing.T) {
	dir := t.TempDir()
	bad := certtest.Write(t, dir, "bad", []byte("x"))
	for want, files := range map[string]TLSFiles{
		"TLSCA: " + bad + ": there is no certificate":        {CA: bad},
		"TLSCA: /absent: ":                                   {CA: "/absent"},
		"ClientCert: goes with a key: set ClientKey":         {Cert: bad},
		"ClientKey: goes with a certificate: set ClientCert": {Key: bad},
		"ClientCert: tls: ":                                  {Cert: bad, Key: bad},
	} {
		if _, err := LoadTLS(files); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
