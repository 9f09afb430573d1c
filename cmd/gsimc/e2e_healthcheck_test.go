package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
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
		cmd := exec.Command(binary(t), append([]string{"healthcheck", "--server", server.GRPC},
			args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 ||
			!strings.Contains(stderr.String(), want) {
			t.Errorf("%v: %v and %q, want exit code 1 and %q", args, err, &stderr, want)
		}
	}
	refused("unknown service", "--service", "nothing")
	server.mustStop(t)
	refused("is the server running there?")
}
