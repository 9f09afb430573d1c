package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

func TestModelDrift(t *testing.T) {
	events, model := smallModel(t)
	drift := func(data string) string {
		t.Helper()
		code, out, stderr := runCLI(t, nil, "model", "drift", "--model", model, "--data", data)
		if code != cli.ExitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return out
	}
	if out := drift(events); !strings.Contains(out, "(100.0 %)") ||
		!strings.Contains(out, "no reason to train") {
		t.Errorf("the training data themselves:\n%s", out)
	}
	// Another catalogue: the same ids, other tastes, and many more items.
	other := filepath.Join(t.TempDir(), "other.csv.gz")
	if code, _, stderr := runCLI(t, nil, "generate", "--users", "300", "--items", "400", "--events",
		"6000", "--seed", "9", "--out", other); code != cli.ExitOK {
		t.Fatal(stderr)
	}
	if out := drift(other); !strings.Contains(out, "train a new model now") {
		t.Errorf("another catalogue:\n%s", out)
	}
	if code, _, stderr := runCLI(t, nil, "model", "drift", "--model", events, "--data",
		events); code != cli.ExitFailure || !strings.Contains(stderr, "model file") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
