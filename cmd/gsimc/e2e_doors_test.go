package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestDoors runs a server on all addresses with TLS, client certificates and tokens, as on a
// network: each command passes with the token of its role, and with nothing less. A token that is
// removed counts no more; a new certificate is taken. No token is in the log.
func TestDoors(t *testing.T) {
	events, model := smallModel(t)
	dir, a := t.TempDir(), certtest.NewAuthority(t)
	until := time.Now().Add(time.Hour)
	write := func(name string, text []byte) string { return certtest.Write(t, dir, name, text) }
	server, mine := a.Issue(t, 1, until), a.Issue(t, 2, until)
	ca := write("ca.pem", a.PEM)

	files, lines := map[string]string{}, map[string]string{} // by role
	for _, role := range []string{"recommend", "observe", "user", "admin"} {
		out := execute(t, "token", role+"-client", "--roles", role)
		files[role] = write(role+".token", []byte(out))
		lines[role] = out[strings.Index(out, "\n")+1:]
	}
	all := lines["recommend"] + lines["observe"] + lines["user"] + lines["admin"]
	tokens := write("tokens", []byte(all))
	state := t.TempDir()
	p := startServe(t, model, state, "--listen", "0.0.0.0:0", "--admin-listen", "0.0.0.0:0",
		"--token-file", tokens, "--tls-client-ca", ca, "--tls-cert", write("cert.pem", server.Cert),
		"--tls-key", write("key.pem", server.Key))
	local := func(address string) string {
		_, port, err := net.SplitHostPort(address)
		check.Must(t, err)
		return "127.0.0.1:" + port
	}
	access := []string{"--tls-ca", ca, "--client-cert", write("mine.pem", mine.Cert), "--client-key",
		write("mine.key", mine.Key), "--client-token-file"}
	commands := map[string][]string{ // by role
		"recommend": {"recommend", "--user", "alice", "--server", local(p.GRPC)},
		"observe":   {"observe", "--data", events, "--give-up", "1s", "--server", local(p.GRPC)},
		"admin": {"train", "--from-store", state, "--rank", "16", "--server", local(p.Admin),
			"--out", filepath.Join(dir, "new.gsimc")},
	}
	for _, role := range []string{"recommend", "observe", "admin"} {
		with := append(commands[role], access...)
		for other, file := range files {
			if other == role {
				mustRun(t, append(with, file)...)
				continue
			}
			refused(t, cli.ExitFailure, "the token lacks the role "+role, append(with, file)...)
		}
		for want, args := range map[string][]string{
			"Unauthenticated": access[:6],
			// Without a certificate, and in plain text: the words depend on who is faster.
			"Unavailable: ":     {"--tls-ca", ca, "--client-token-file", files[role]},
			"Unavailable":       {"--client-token-file", files[role]},
			"unknown authority": {"--tls", "--client-token-file", files[role]},
		} {
			refused(t, cli.ExitFailure, want, append(commands[role], args...)...)
		}
	}
	// A token may have two roles.
	both := execute(t, "token", "both", "--roles", "recommend,observe")
	write("tokens", []byte(all+both[strings.Index(both, "\n")+1:]))
	p.awaitLog(t, "tokens read again", 1)
	for _, role := range []string{"recommend", "observe"} {
		mustRun(t, append(append(commands[role], access...), write("both.token", []byte(both)))...)
	}

	// The token may stand in the environment, and is not shown then.
	token, _, _ := strings.Cut(mustRead(t, files["recommend"]), "\n")
	env := []string{"GSIMC_CLIENT_TOKEN=" + token}
	mustRunIn(t, env, append(commands["recommend"], access[:6]...)...)
	if _, out, _ := runCLI(t, env, "config", "print", "recommend"); strings.Contains(out, token) {
		t.Errorf("config print shows a token:\n%s", out)
	}

	write("tokens", []byte(lines["observe"]))
	next := a.Issue(t, 3, until)
	write("cert.pem", next.Cert)
	write("key.pem", next.Key)
	p.awaitLog(t, "tokens read again", 2)
	p.awaitLog(t, "certificates read again", 1)
	code, _, stderr := runCLI(t, env, append(commands["recommend"], access[:6]...)...)
	check.Same(t, cli.ExitFailure, code, "exit code with a token that was removed")
	says(t, "a token that was removed", stderr, "Unauthenticated")
	mustRun(t, append(append(commands["observe"], access...), files["observe"])...)
	p.mustStop(t)
	check.Lacks(t, p.log.String(), "gsimc_", "the log, in which no token may be")
}

// TestServeIsClosedByDefault: without certificates and tokens a server does not start on addresses
// of the network unless it is told to. TestBadFlags has all of the refusal.
func TestServeIsClosedByDefault(t *testing.T) {
	_, model := smallModel(t)
	code, _, stderr := runCLI(t, []string{"GSIMC_LISTEN=0.0.0.0:0"}, "serve", "--model", model,
		"--store", "memory", "--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	check.Same(t, cli.ExitUsage, code, "exit code")
	says(t, "the refusal", stderr, "--listen: ", "--insecure", "(from GSIMC_LISTEN)")
	startServe(t, model, t.TempDir(), "--listen", "0.0.0.0:0", "--insecure").mustStop(t)
}
