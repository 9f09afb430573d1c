package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/proctest"
)

// The account of the tests at the broker.
const saslUser, saslPassword = "reader", "open-sesame"

// certify writes a key and a certificate of the host of an address.
func certify(t testing.TB, path, address string) {
	t.Helper()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1),
		Subject:   pkix.Name{CommonName: "broker"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		IPAddresses: []net.IP{net.ParseIP(host)}, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for kind, block := range map[string][]byte{"PRIVATE KEY": private, "CERTIFICATE": cert} {
		if err := pem.Encode(&text, &pem.Block{Type: kind, Bytes: block}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Over TLS each mechanism of SASL lets the user in, and another password does not.
func TestSecureBroker(t *testing.T) {
	b := startBroker(t)
	s := startServer(t)
	for i, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		f := &flow{Client: b.client(t), topic: b.topic(t, 1), users: 1 + i}
		f.produce(100 * f.users)
		password := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(password, []byte(saslPassword+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"--brokers", b.secure, "--topic", f.topic, "--group", mechanism,
			"--server", s.address, "--dead-letter", filepath.Join(t.TempDir(), "dead"),
			"--kafka-tls-ca", b.cert, "--sasl", mechanism, "--sasl-user", saslUser}
		c := startConsumer(t, append(args, "--sasl-password-file", password)...)
		proctest.Await(t, mechanism+" lets in", func() bool {
			return c.sum("gsimc_kafka_records_total") == float64(100*f.users)
		})
		c.Stop(t)
		t.Setenv("GSIMC_SASL_PASSWORD", "guess")
		c = startConsumer(t, args...)
		proctest.Await(t, mechanism+" is refused", func() bool {
			text, code := c.page("/healthz")
			return code == 503 && strings.Contains(text, "no broker answers")
		})
		c.Stop(t)
	}
}
