package valkey_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/storetest"
	"github.com/gsimc/gsimc/store/valkey"
)

// A cluster that cannot keep the promises is refused with all that is wrong, and what to do; one
// for development is opened, and says that it promises less.
func TestSettings(t *testing.T) {
	t.Parallel()
	c := enginetest.Redis(t, enginetest.RedisConfig{Primaries: 1, Args: []string{
		"--appendonly", "no", "--maxmemory-policy", "allkeys-lru",
		"--cluster-allow-replica-migration", "yes", "--appendfsync", "no"}})
	o := valkey.Options{Addrs: c.Addrs(), Namespace: "n"}
	_, err := valkey.Open(t.Context(), o)
	settings, ok := errors.AsType[*valkey.SettingsError](err)
	if !ok {
		t.Fatalf("Open: %v, want a SettingsError", err)
	}
	node := c.Nodes[0].Addr
	want := []valkey.Problem{
		{Node: node, Setting: "appendonly", Found: "no", Want: "yes",
			Command: "CONFIG SET appendonly yes"},
		{Node: node, Setting: "maxmemory-policy", Found: "allkeys-lru", Want: "noeviction",
			Command: "CONFIG SET maxmemory-policy noeviction"},
		{Node: node, Setting: "cluster-allow-replica-migration", Found: "yes", Want: "no",
			Command: "CONFIG SET cluster-allow-replica-migration no"},
		{Node: node, Setting: "appendfsync", Found: "no", Want: "everysec or always",
			Command: "CONFIG SET appendfsync everysec"},
		{Node: node, Setting: "number of linked replicas", Found: "0", Want: "at least 1",
			Command: "redis-cli --cluster add-node REPLICA " + node + " --cluster-slave"},
	}
	check.Same(t, want, settings.Problems, "problems")
	for _, p := range want[:4] { // the commands do what they say
		check.Pass(t, check.Err(c.Nodes[0].Do(strings.Fields(p.Command)...)), "%s", p.Command)
	}
	_, err = valkey.Open(t.Context(), o)
	if settings, ok = errors.AsType[*valkey.SettingsError](err); !ok ||
		len(settings.Problems) != 1 {
		t.Errorf("Open with the settings: %v, want the replica alone", err)
	}
	o.NotDurable = true
	s := open(t, o)
	defer s.Close()
	mustAppend(t, s, "u", 1)
	if kept := s.Promises()[0].Kept; !strings.HasPrefix(kept, "no: ") {
		t.Errorf("the first promise: %q, want no", kept)
	}
}

// What is no cluster, or nothing at all, is an error that says so in time.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	server := enginetest.RedisServer(t)
	c := enginetest.Redis(t, enginetest.RedisConfig{Primaries: 1})
	alone := standalone(t, server, "p")
	valid := valkey.Options{Addrs: c.Addrs(), Namespace: "n", NotDurable: true}
	for name, c := range map[string]struct {
		change func(o *valkey.Options)
		want   string
	}{
		"no address":   {func(o *valkey.Options) { o.Addrs = nil }, "Addrs: there is none"},
		"no port":      {func(o *valkey.Options) { o.Addrs = []string{"h"} }, `Addrs: "h"`},
		"no namespace": {func(o *valkey.Options) { o.Namespace = "a:b" }, `Namespace: "a:b"`},
		"less than no replicas": {func(o *valkey.Options) { o.Replicas = -1 },
			"Replicas: -1, want 0 or more"},
		"nobody there": {func(o *valkey.Options) { o.Addrs = []string{"127.0.0.1:1"} },
			"connect to 127.0.0.1:1"},
		"a wrong password": {func(o *valkey.Options) { o.Username, o.Password = "u", password("p") },
			"WRONGPASS"},
		"no password": {func(o *valkey.Options) { o.Addrs = []string{alone} }, "password-file"},
		"no cluster": {func(o *valkey.Options) {
			o.Addrs, o.Password = []string{alone}, password("p")
		}, "cluster-enabled yes"},
	} {
		o := valid
		c.change(&o)
		s, err := valkey.Open(within(t, 10*time.Second), o)
		if check.Says(t, err, c.want, "%s", name); err == nil {
			_ = s.Close()
		}
	}
}

// password returns a password that does not change.
func password(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

// standalone starts a server that is not part of a cluster, with a password, and returns its address.
func standalone(t *testing.T, server, password string) string {
	t.Helper()
	dir := t.TempDir()
	port := strconv.Itoa(enginetest.Port(t))
	addr := "127.0.0.1:" + port
	p := enginetest.NewProcess(dir, server, "--port", port, "--dir", dir, "--save", "",
		"--requirepass", password)
	check.Must(t, p.Start())
	t.Cleanup(p.Kill)
	for range 500 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			return addr
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the server does not listen: %s", p.Output())
	return ""
}

// aclLine finds in the documentation how to make the user of the store.
func aclLine(t *testing.T) string {
	t.Helper()
	text := check.Get(os.ReadFile("../../docs/scale.md"))(t)
	line := regexp.MustCompile(`(?m)^    (ACL SETUSER gsimc (?:.*\\\n)*.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("docs/scale.md has no line that begins with ACL SETUSER gsimc")
	}
	return strings.ReplaceAll(string(line[1]), "\\\n", " ")
}

// The user of the documentation, who may do nothing else, is enough for all that the store does.
func TestLeastRights(t *testing.T) {
	soak.Native(t)
	o := options(t)
	c := enginetest.SharedRedis(t, 3, 1)
	o.Username, o.Password = "gsimc", password("secret")
	namespaces := 0
	grant := func() string {
		namespaces++
		namespace := enginetest.Namespace()
		line := strings.NewReplacer("PASSWORD", "secret", "NAMESPACE", namespace).
			Replace(aclLine(t))
		for _, n := range c.Nodes {
			if _, err := n.Pipeline([]string{"ACL", "DELUSER", "gsimc"},
				strings.Fields(line)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		return namespace
	}
	storetest.Run(t, func(t testing.TB) store.Store {
		o := o
		o.Namespace = grant()
		return open(t, o)
	}, storetest.PerUser)
	o.Namespace = enginetest.Namespace() // not granted
	_, err := valkey.Open(within(t, time.Second), o)
	check.Says(t, err, "NOPERM", "Open of another namespace")
}

// Settings that the user may not look up are named, and may be vouched for.
func TestTrustedSettings(t *testing.T) {
	o := options(t)
	c := enginetest.SharedRedis(t, 3, 1)
	o.Username, o.Password = "blind", password("secret")
	for _, n := range c.Nodes {
		check.Get(n.Do("ACL", "SETUSER", "blind", "on", ">secret", "~*", "+@all", "-config|get"))(t)
	}
	check.Says(t, check.Err(valkey.Open(t.Context(), o)), "+config|get", "Open without CONFIG GET")
	o.TrustSettings = true
	s := open(t, o)
	defer s.Close()
	promises := s.Promises()
	check.Has(t, promises[len(promises)-1].Kept, "which are trusted", "the promise about settings")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	authority := certtest.NewAuthority(t)
	pair := authority.Issue(t, 1, time.Now().Add(time.Hour))
	dir := t.TempDir()
	cert := certtest.Write(t, dir, "cert.pem", pair.Cert)
	key := certtest.Write(t, dir, "key.pem", pair.Key)
	ca := certtest.Write(t, dir, "ca.pem", authority.PEM)
	c, err := enginetest.StartRedis(filepath.Join(dir, "nodes"), enginetest.RedisServer(t),
		enginetest.RedisConfig{Primaries: 1, Replicas: 1, TLS: []string{"--tls-cert-file", cert,
			"--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "no",
			"--tls-cluster", "yes", "--tls-replication", "yes"}})
	if err != nil {
		t.Skipf("the server was built without TLS: %v", err)
	}
	t.Cleanup(c.Remove)
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	o := valkey.Options{Addrs: []string{c.Nodes[0].TLSAddr}, Namespace: "n",
		TLS: func() (*tls.Config, error) { return config, nil }}
	_, err = valkey.Open(t.Context(), o)
	if _, foreign := errors.AsType[x509.UnknownAuthorityError](err); !foreign &&
		(err == nil || !strings.Contains(err.Error(), "unknown authority")) {
		t.Errorf("Open with another authority: %v, want that it is unknown", err)
	}
	if !config.RootCAs.AppendCertsFromPEM(authority.PEM) {
		t.Fatal("no certificate of the authority")
	}
	s := open(t, o)
	defer s.Close()
	mustAppend(t, s, "u", 1)
	if head, _, err := s.Since(t.Context(), "u", store.Version{}, nil); head.Revision != 1 {
		t.Errorf("Since: %v, %v", head, err)
	}
}
