package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTuneThenTrain searches for a second, trains with what was found, and finds out that the trials are kept apart.
func TestTuneThenTrain(t *testing.T) {
	events, _ := smallModel(t)
	dir := t.TempDir()
	tuned, trained := filepath.Join(dir, "tuned.yaml"), filepath.Join(dir, "tuned.gsimc")
	tune := func(flags ...string) (int, string) {
		code, stdout, stderr := runCLI(t, nil, append([]string{"tune", "--data", events, "--out", tuned, "--budget", "1s", "--max-rank", "16"}, flags...)...)
		return code, stdout + stderr
	}
	if code, out := tune("--min-item-events", "9"); code != exitOK || !strings.Contains(out, "the test users, looked at once") {
		t.Fatalf("tune: exit code %d:\n%s", code, out)
	}
	text, err := os.ReadFile(tuned)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"min-item-events: 9\n", "dynamics: ", "rank: ", "graph: "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file does not have %q:\n%s", want, text)
		}
	}
	mustRun(t, "train", "--data", events, "--out", trained, "--config", tuned)
	if got := provenance(t, trained, "min_item_events"); got != "9" {
		t.Errorf("min_item_events of the trained model is %q, want 9", got)
	}
	if code, out := tune("--min-item-events", "9"); code != exitOK {
		t.Errorf("tune again: exit code %d:\n%s", code, out)
	}
	if code, out := tune("--min-item-events", "25"); code != exitFailure || !strings.Contains(out, "these are not trials on the same events") {
		t.Errorf("tune on other items: exit code %d:\n%s", code, out)
	}
}
