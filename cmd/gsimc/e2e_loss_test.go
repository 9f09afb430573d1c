package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	if err := os.RemoveAll(filepath.Join(dir, "histories")); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(binary(t), "serve", "--model", model, "--data-dir", dir, "--listen",
		"127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err == nil {
		t.Error("the server began an empty store")
	}
	for _, want := range []string{"(1 acknowledged commits at", "is missing",
		"restore the store from a backup", "--accept-loss"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("the error does not say %q:\n%s", want, &stderr)
		}
	}

	startServe(t, model, dir, "--accept-loss").mustStop(t)
	startServe(t, model, dir).mustStop(t)
}
