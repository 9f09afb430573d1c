package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// The account of the tests at the broker.
const saslUser, saslPassword = "reader", "open-sesame"

// Over TLS each mechanism of SASL lets the user in, and another password does not.
func TestSecureBroker(t *testing.T) {
	b := startBroker(t)
	s := startServer(t)
	for i, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		f := &flow{Client: b.client(t), topic: b.topic(t, 1), users: 1 + i}
		f.produce(100 * f.users)
		password := filepath.Join(t.TempDir(), "password")
		check.Must(t, os.WriteFile(password, []byte(saslPassword+"\n"), 0o600))
		args := []string{"--brokers", b.secure, "--topic", f.topic, "--group", mechanism,
			"--server", s.address, "--dead-letter", filepath.Join(t.TempDir(), "dead"),
			"--kafka-tls-ca", b.authority, "--sasl", mechanism, "--sasl-user", saslUser}
		if i == 0 { // else the certificate must be of the broker's host
			args = append(args, "--kafka-tls-server-name", "localhost")
		}
		c := startConsumer(t, append(args, "--sasl-password-file", password)...)
		check.Within(t, proctest.Limit, mechanism+" lets in", func() bool {
			return c.sum("gsimc_kafka_records_total") == float64(100*f.users)
		})
		c.Stop(t)
		t.Setenv("GSIMC_SASL_PASSWORD", "guess")
		c = startConsumer(t, args...)
		check.Within(t, proctest.Limit, mechanism+" is refused", func() bool {
			text, code := c.page("/healthz")
			return code == 503 && strings.Contains(text, "no broker answers")
		})
		c.Stop(t)
	}
}
