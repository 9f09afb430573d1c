package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/tune"
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
	if code, _, stderr := runCLI(t, nil, append(args, "--seed", "2")...); code == cli.ExitOK || !strings.Contains(stderr, errOtherTrials.Error()) {
		t.Errorf("another seed: exit code %d, stderr %q", code, stderr)
	}
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
	code, _, stderr := runCLI(t, nil, append(args, "--min-item-events", "25")...)
	if code == cli.ExitOK || !strings.Contains(stderr, errOtherTrials.Error()) {
		t.Errorf("other items: exit code %d, stderr %q", code, stderr)
	}
}

func trialsIn(t *testing.T, out string) int {
	t.Helper()
	text, err := os.ReadFile(out + ".trials")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func TestTrialLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trials")
	report := &dataset.Report{Hash: "abc"}
	key := newTrialKey(report, dataset.Split{dataset.Train, dataset.Validation}, 5, 1)
	trials := []tune.Trial{{Candidate: tune.Candidate{Graph: "g", Rank: 3}, NDCG: 0.5}, {Candidate: tune.Candidate{Rank: 4}, HR: 0.25}}
	write := func(fresh bool, add ...tune.Trial) []tune.Trial {
		t.Helper()
		l, known, err := openTrials(path, key, fresh)
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range add {
			l.add(trial)
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		return known
	}
	write(false, trials[0])
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"Candidate":{"Gra`); err != nil { // a crash
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trials[:1], write(false, trials[1])); diff != "" {
		t.Errorf("after a crash (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(trials, write(false)); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
	// The same numbers of users in each role, but other users.
	other := newTrialKey(report, dataset.Split{dataset.Validation, dataset.Train}, 5, 1)
	if _, _, err := openTrials(path, other, false); err == nil {
		t.Error("the trials of another split were taken")
	}
	if known := write(true); len(known) != 0 {
		t.Errorf("--fresh found %d trials", len(known))
	}
}
