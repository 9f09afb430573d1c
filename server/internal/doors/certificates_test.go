package doors

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
)

// reloads is the value of a series of gsimc_door_reloads_total.
func reloads(t testing.TB, m *Metrics, files, result string) float64 {
	t.Helper()
	return counted(t, m, "gsimc_door_reloads_total", files, result)
}

// counted is the counter of a name with these values of its labels.
func counted(t testing.TB, m *Metrics, name string, labels ...string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m.Collectors()...)
	for _, family := range check.Get(registry.Gather())(t) {
		for _, series := range family.GetMetric() {
			var has []string
			for _, l := range series.GetLabel() {
				has = append(has, l.GetValue())
			}
			if family.GetName() == name && slices.Equal(has, labels) {
				return series.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no series %s of %q", name, labels)
	return 0
}

// served is a server with health behind doors.
type served struct {
	*Doors
	address string
	dir     string // of the files cert.pem, key.pem and ca.pem
	logs    *bytes.Buffer
}

// serveTLS serves with a certificate, and for clients of an authority if there is one.
func serveTLS(t testing.TB, pair certtest.Pair, clients *certtest.Authority) *served {
	t.Helper()
	s := &served{dir: t.TempDir(), logs: &bytes.Buffer{}}
	files := Files{Cert: certtest.Write(t, s.dir, "cert.pem", pair.Cert),
		Key: certtest.Write(t, s.dir, "key.pem", pair.Key)}
	if clients != nil {
		files.ClientCA = certtest.Write(t, s.dir, "ca.pem", clients.PEM)
	}
	var err error
	if s.Doors, err = Open(files, roles, time.Now, slog.New(slog.NewTextHandler(s.logs, nil)),
		NewMetrics()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	g := grpc.NewServer(grpc.Creds(s.Credentials()))
	healthpb.RegisterHealthServer(g, health.NewServer())
	go g.Serve(l)
	t.Cleanup(g.Stop)
	s.address = l.Addr().String()
	return s
}

// call makes one call on a connection of its own and returns the serial of the server.
func (s *served) call(t testing.TB, config *tls.Config) (serial int64, err error) {
	t.Helper()
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	must(t, err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return callOn(ctx, conn)
}

func callOn(ctx context.Context, conn *grpc.ClientConn) (serial int64, err error) {
	var p peer.Peer
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Peer(&p))
	if err != nil {
		return 0, err
	}
	state := p.AuthInfo.(credentials.TLSInfo).State
	return state.PeerCertificates[0].SerialNumber.Int64(), nil
}

func trusting(a *certtest.Authority) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM)
	return &tls.Config{RootCAs: pool}
}

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

// Certificates change every 200 ms under load, by exchanged links as Kubernetes does it, with bad
// ones between: no call fails, and new connections see the new serials.
func TestCertificatesChangeUnderLoad(t *testing.T) {
	a := certtest.NewAuthority(t)
	s := serveTLS(t, a.Issue(t, 100, tomorrow()), nil)
	// The files become links into a folder that is itself a link.
	turn := func(serial int, pair certtest.Pair) {
		name := "at-" + strconv.Itoa(serial)
		must(t, os.Mkdir(filepath.Join(s.dir, name), 0o700))
		certtest.Write(t, filepath.Join(s.dir, name), "cert.pem", pair.Cert)
		certtest.Write(t, filepath.Join(s.dir, name), "key.pem", pair.Key)
		link(t, name, filepath.Join(s.dir, "data"))
		link(t, filepath.Join("data", "cert.pem"), filepath.Join(s.dir, "cert.pem"))
		link(t, filepath.Join("data", "key.pem"), filepath.Join(s.dir, "key.pem"))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go s.Watch(ctx, 10*time.Millisecond)

	var calls, fresh atomic.Int64
	var clients sync.WaitGroup
	done := make(chan struct{})
	for range 2 { // on long connections
		clients.Go(func() {
			conn, err := grpc.NewClient(s.address,
				grpc.WithTransportCredentials(credentials.NewTLS(trusting(a))))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for !closed(done) {
				if _, err := callOn(t.Context(), conn); err != nil {
					t.Errorf("a call failed: %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	clients.Go(func() { // on new connections
		for !closed(done) {
			if _, err := s.call(t, trusting(a)); err != nil {
				t.Errorf("a call on a new connection failed: %v", err)
				return
			}
			fresh.Add(1)
		}
	})
	const rotations = 10
	for i := range rotations {
		pair := a.Issue(t, int64(i+1), tomorrow())
		if i%3 == 2 { // the key of another certificate: changes nothing
			pair.Key = a.Issue(t, 200, tomorrow()).Key
		}
		turn(i+1, pair)
		time.Sleep(200 * time.Millisecond)
		if i%3 == 2 {
			eventually(t, "the bad pair is counted", func() bool {
				return reloads(t, s.metrics, "certificates", "failure") == float64(i/3+1)
			})
			continue
		}
		eventually(t, "the new serial is seen", func() bool {
			serial, err := s.call(t, trusting(a))
			return err == nil && serial == int64(i+1)
		})
	}
	close(done)
	clients.Wait()
	t.Logf("%d calls on long connections, %d on new ones, %d changes", calls.Load(), fresh.Load(),
		rotations)
	if calls.Load() == 0 || fresh.Load() == 0 {
		t.Error("there was no load")
	}
	check.Same(t, rotations/3, int(reloads(t, s.metrics, "certificates", "failure")),
		"bad pairs counted")
}

func closed(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// link makes a link, in the place of a file that may be there, in one step.
func link(t testing.TB, to, path string) {
	t.Helper()
	must(t, os.Symlink(to, path+".new"))
	must(t, os.Rename(path+".new", path))
}

// Pairs that are half written, do not fit or have ended change nothing. They are counted, and the
// log says why.
func TestBadPairsChangeNothing(t *testing.T) {
	a := certtest.NewAuthority(t)
	good := a.Issue(t, 7, tomorrow())
	s := serveTLS(t, good, nil)
	next, ended := a.Issue(t, 8, tomorrow()), a.Issue(t, 9, time.Now().Add(-time.Minute))
	failures := 0.0
	for name, pair := range map[string]certtest.Pair{
		"half":    {Cert: next.Cert[:len(next.Cert)/2], Key: next.Key},
		"no key":  {Cert: next.Cert},
		"another": {Cert: next.Cert, Key: ended.Key},
		"ended":   ended,
		"garbage": {Cert: []byte("x"), Key: []byte("y")},
	} {
		certtest.Write(t, s.dir, "cert.pem", pair.Cert)
		certtest.Write(t, s.dir, "key.pem", pair.Key)
		for range 4 {
			s.certs.Look(t.Context())
		}
		failures++
		check.Same(t, failures, reloads(t, s.metrics, "certificates", "failure"),
			"%s: failures are counted", name)
		check.Same(t, int64(7), check.Get(s.call(t, trusting(a)))(t), "%s: serial", name)
	}
	check.Same(t, int(failures), strings.Count(s.logs.String(), "new certificates refused"),
		"log lines of refusals in\n%s", s.logs)
	must(t, os.Remove(filepath.Join(s.dir, "key.pem")))
	for range 3 {
		s.certs.Look(t.Context())
	}
	if got := reloads(t, s.metrics, "certificates", "failure"); got != failures+1 {
		t.Errorf("a missing key is counted %v times, want once", got-failures)
	}
	certtest.Write(t, s.dir, "cert.pem", next.Cert)
	certtest.Write(t, s.dir, "key.pem", next.Key)
	s.certs.Look(t.Context())
	if serial, _ := s.call(t, trusting(a)); serial != 7 {
		t.Errorf("one reading was enough for serial %d", serial)
	}
	s.certs.Look(t.Context())
	check.Same(t, int64(8), check.Get(s.call(t, trusting(a)))(t),
		"serial of a good pair after bad ones")
	if _, err := Open(Files{Cert: certtest.Write(t, s.dir, "c", ended.Cert),
		Key: certtest.Write(t, s.dir, "k", ended.Key)}, roles, time.Now, slog.New(slog.DiscardHandler),
		NewMetrics()); err == nil || !strings.Contains(err.Error(), "c: the certificate ended") {
		t.Errorf("a start with a certificate that has ended: %v", err)
	}
}

// The name in a verified certificate says who calls, if no token does.
func TestCallerByCertificate(t *testing.T) {
	cert := &x509.Certificate{Subject: pkix.Name{CommonName: "batch"}}
	ctx := func(state tls.ConnectionState) context.Context {
		return peer.NewContext(withToken(), &peer.Peer{AuthInfo: credentials.TLSInfo{State: state}})
	}
	for want, state := range map[string]tls.ConnectionState{
		"batch": {PeerCertificates: []*x509.Certificate{cert},
			VerifiedChains: [][]*x509.Certificate{{cert}}},
		"": {PeerCertificates: []*x509.Certificate{cert}},
	} {
		check.Same(t, want, callerOf(ctx(state), new(Doors))[0], "the caller")
	}
}

// Clients without a certificate, with one of another authority or one that has ended, with TLS 1.2
// and without TLS are refused; those with a good one are not.
func TestClientCertificates(t *testing.T) {
	a, stranger := certtest.NewAuthority(t), certtest.NewAuthority(t)
	s := serveTLS(t, a.Issue(t, 1, tomorrow()), a)
	with := func(p certtest.Pair) *tls.Config {
		c := trusting(a)
		pair := check.Get(tls.X509KeyPair(p.Cert, p.Key))(t)
		c.Certificates = []tls.Certificate{pair}
		return c
	}
	check.Pass(t, check.Err(s.call(t, with(a.Issue(t, 2, tomorrow())))), "a good certificate")
	old := with(a.Issue(t, 3, tomorrow()))
	old.MaxVersion = tls.VersionTLS12
	for name, config := range map[string]*tls.Config{
		"no certificate": trusting(a), "another authority": with(stranger.Issue(t, 4, tomorrow())),
		"ended": with(a.Issue(t, 5, time.Now().Add(-time.Minute))), "TLS 1.2": old,
		"a server that is not trusted": trusting(stranger),
	} {
		if _, err := s.call(t, config); err == nil {
			t.Errorf("%s: the call is answered", name)
		}
	}
	raw := check.Get(net.Dial("tcp", s.address))(t)
	defer raw.Close()
	_, _ = raw.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	_ = raw.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer := make([]byte, 64)
	if n, _ := raw.Read(answer); n > 0 && answer[0] != 21 { // 21: a TLS alert
		t.Errorf("plain text is answered with % x", answer[:n])
	}
}
