package main

import (
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestHealthcheck asks a server that serves, for a service that it does not have, and where there
// is no server any more. A container looks at the exit code of the real binary.
func TestHealthcheck(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	server := startServe(t, model, t.TempDir())
	execute(t, "healthcheck", "--server", server.GRPC)
	execute(t, "healthcheck", "--server", server.GRPC, "--service", "gsimc.v1.EventService")
	p := gsimc(t, "healthcheck", "--server", server.GRPC, "--service", "nothing")
	check.Same(t, cli.ExitFailure, p.Wait(), "exit code for an unknown service")
	check.Has(t, p.Err.String(), "unknown service", "the refusal")
	server.mustStop(t)
	refused(t, cli.ExitFailure, "is the server running there?", "healthcheck", "--server",
		server.GRPC)
}
