package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// smallPieces is data of many pieces that two or three users share. Few of its validation users say
// something about the piece of another.
func smallPieces() string {
	rng := rand.New(rand.NewPCG(3, 1))
	var b strings.Builder
	b.WriteString("user_id,item_id,timestamp\n")
	user := 0
	for piece := range 200 {
		for range 2 + rng.IntN(2) {
			for t, i := range rng.Perm(6)[:3+rng.IntN(3)] {
				fmt.Fprintf(&b, "u%d,i%d-%d,%d\n", user, piece, i, 1_700_000_000+60*t)
			}
			user++
		}
	}
	return b.String()
}

// TestVariancesWithheld: train warns of a model without variances, and model show and evaluate say
// so.
func TestVariancesWithheld(t *testing.T) {
	events := writeFile(t, "events.csv", smallPieces())
	path := filepath.Join(t.TempDir(), "model.gsimc")
	const warning = "warning: the model does not know the uncertainty of its answers"
	for _, extra := range [][]string{nil, {"--json"}} {
		args := append([]string{"train", "--data", events, "--out", path, "--rank", "200"}, extra...)
		code, _, stderr := runCLI(t, nil, args...)
		if code != cli.ExitOK || strings.Count(stderr, warning) != 1 {
			t.Errorf("train %v: exit code %d, want one warning in\n%s", extra, code, stderr)
		}
	}
	if shown := mustRun(t, "model", "show", path); !strings.Contains(shown, "withheld") {
		t.Errorf("model show does not tell of it:\n%s", shown)
	}
	var e struct {
		Dynamics struct {
			Calibration struct{ Withheld bool }
		}
	}
	args := []string{"evaluate", "--data", events, "--rank", "200", "--methods", "dynamics"}
	out := mustRun(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &e); err != nil || !e.Dynamics.Calibration.Withheld {
		t.Errorf("evaluate does not tell of it (%v):\n%s", err, out)
	}
	text := mustRun(t, append(args, "--verbose")...)
	if !strings.Contains(text, "dynamics: no uncertainty") {
		t.Errorf("evaluate does not tell of it:\n%s", text)
	}
}

// TestNoWarning: on data whose validation users tell the variances, train warns of nothing.
func TestNoWarning(t *testing.T) {
	events, path := smallModel(t)
	code, _, stderr := runCLI(t, nil, "train", "--data", events, "--out", path, "--rank", "16")
	if code != cli.ExitOK || strings.Contains(stderr, "warning") {
		t.Errorf("exit code %d, want no warning in\n%s", code, stderr)
	}
}
