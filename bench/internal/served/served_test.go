package served

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// program writes a shell script that stands for gsimc.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gsimc")
	check.Must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	return path
}

func TestServer(t *testing.T) {
	s, err := Start(t.Context(), program(t, `
trap 'exit 0' TERM
echo 'not JSON' >&2
echo '{"msg":"serving","grpc":"127.0.0.1:7","ops":"127.0.0.1:8"}' >&2
while :; do sleep 0.05; done`), "model", "dir")
	check.Must(t, err)
	check.Same(t, "127.0.0.1:7", s.Address, "address")
	check.Pass(t, s.Close(), "Close")
}

func TestBadServers(t *testing.T) {
	bad := program(t, "echo 'the model is bad' >&2; exit 3")
	if _, err := Start(t.Context(), bad, "model", "dir"); err == nil ||
		!strings.Contains(err.Error(), "the model is bad") ||
		!strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a server that ends at once: %v", err)
	}
	none := filepath.Join(t.TempDir(), "none")
	if _, err := Start(t.Context(), none, "model", "dir"); err == nil ||
		!strings.Contains(err.Error(), "make build") {
		t.Errorf("no program: %v", err)
	}
	s, err := Start(t.Context(), program(t, `
trap 'exit 4' TERM
echo '{"msg":"serving","grpc":"127.0.0.1:7"}' >&2
while :; do sleep 0.05; done`), "model", "dir")
	check.Must(t, err)
	check.Says(t, s.Close(), "exit status 4", "a server that ends badly")
}
