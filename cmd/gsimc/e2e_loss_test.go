package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestLostStoreIsRefused takes the histories away from a server that was killed: it must not begin
// anew unless it is told to.
func TestLostStoreIsRefused(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	dir := filepath.Join(t.TempDir(), "state")
	server := startServe(t, model, dir)
	execute(t, "observe", "--server", server.GRPC, "--user", "u", "--item", "i", "--event-id", "e")
	server.mustStop(t)
	check.Must(t, os.RemoveAll(filepath.Join(dir, "histories")))

	p := gsimc(t, serveFlags("--model", model, "--data-dir", dir)...)
	if p.Wait() == cli.ExitOK {
		t.Error("the server began an empty store")
	}
	says(t, "the error", p.Err.String(), "(1 acknowledged commits at", "is missing",
		"restore the store from a backup", "--accept-loss")

	startServe(t, model, dir, "--accept-loss").mustStop(t)
	startServe(t, model, dir).mustStop(t)
}
