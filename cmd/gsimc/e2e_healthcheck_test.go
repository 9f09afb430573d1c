package main

import (
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
	refused(t, cli.ExitFailure, "unknown service", "healthcheck", "--server", server.GRPC, "--service",
		"nothing")
	server.mustStop(t)
	refused(t, cli.ExitFailure, "is the server running there?", "healthcheck", "--server",
		server.GRPC)
}
