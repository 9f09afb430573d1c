package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/gsimc/gsimc/learn/tune"
)

// TestTune searches, trains with what was found, and goes on from where it was.
func TestTune(t *testing.T) {
	events, _ := smallModel(t)
	out := filepath.Join(t.TempDir(), "tuned.yaml")
	args := []string{"tune", "--data", events, "--max-rank", "16", "--budget", "1s", "--out", out}
	table := mustRun(t, args...)
	if !strings.Contains(table, "the test users, looked at once") {
		t.Errorf("no figures of the test users:\n%s", table)
	}
	before := trialsIn(t, out)
	if before < 2 {
		t.Fatalf("%d lines of trials, want the key and some", before)
	}
	model := filepath.Join(t.TempDir(), "model.gsimc")
	mustRun(t, "train", "--data", events, "--config", out, "--out", model)
	mustRun(t, args...)
	if after := trialsIn(t, out); after < before {
		t.Errorf("%d lines of trials, there were %d", after, before)
	}
	split := writeFile(t, "split.csv", "user_id,role\n")
	refused(t, cli.ExitFailure, tune.ErrOtherTrials.Error(), append(args, "--seed", "2")...)
	if code, _, _ := runCLI(t, nil, append(args, "--split", split)...); code == cli.ExitOK {
		t.Error("an empty split was taken")
	}
}

// TestTuneKeepsFilters: what rare items are left out is part of what was found.
func TestTuneKeepsFilters(t *testing.T) {
	events, _ := smallModel(t)
	dir := t.TempDir()
	tuned, trained := filepath.Join(dir, "tuned.yaml"), filepath.Join(dir, "tuned.gsimc")
	args := []string{"tune", "--data", events, "--max-rank", "16", "--budget", "1s", "--out", tuned}
	mustRun(t, append(args, "--min-item-events", "9")...)
	mustRun(t, "train", "--data", events, "--config", tuned, "--out", trained)
	if got := provenance(t, trained, "min_item_events"); got != "9" {
		t.Errorf("min_item_events of the trained model is %q, want 9", got)
	}
	refused(t, cli.ExitFailure, tune.ErrOtherTrials.Error(),
		append(args, "--min-item-events", "25")...)
}

func trialsIn(t *testing.T, out string) int {
	t.Helper()
	text := mustRead(t, out+".trials")
	return strings.Count(string(text), "\n")
}
