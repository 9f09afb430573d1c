package main

import (
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// TestHealthcheck asks a server that serves, for a service that it does not have, and where there is
// no server any more.
func TestHealthcheck(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	server := startServe(t, model, t.TempDir())
	execute(t, "healthcheck", "--server", server.GRPC)
	execute(t, "healthcheck", "--server", server.GRPC, "--service", "gsimc.v1.EventService")
	refused := func(want string, args ...string) {
		t.Helper()
		p := gsimc(t, append([]string{"healthcheck", "--server", server.GRPC}, args...)...)
		if code := p.Wait(); code != cli.ExitFailure || !strings.Contains(p.Err.String(), want) {
			t.Errorf("%v: exit code %d and %q, want 1 and %q", args, code, &p.Err, want)
		}
	}
	refused("unknown service", "--service", "nothing")
	server.mustStop(t)
	refused("is the server running there?")
}
