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
		return mustRun(t, "model", "drift", "--model", model, "--data", data)
	}
	if out := drift(events); !strings.Contains(out, "(100.0 %)") ||
		!strings.Contains(out, "no reason to train") {
		t.Errorf("the training data themselves:\n%s", out)
	}
	// Another catalogue: the same ids, other tastes, and many more items.
	other := filepath.Join(t.TempDir(), "other.csv.gz")
	mustRun(t, "generate", "--users", "300", "--items", "400", "--events", "6000", "--seed", "9",
		"--out", other)
	if out := drift(other); !strings.Contains(out, "train a new model now") {
		t.Errorf("another catalogue:\n%s", out)
	}
	refused(t, cli.ExitFailure, "model file", "model", "drift", "--model", events, "--data", events)
}
