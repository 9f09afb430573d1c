package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
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
		if _, stderr := mustRunIn(t, nil, args...); strings.Count(stderr, warning) != 1 {
			t.Errorf("train %v: want one warning in\n%s", extra, stderr)
		}
	}
	says(t, "model show", mustRun(t, "model", "show", path), "withheld")
	var e struct {
		Dynamics struct {
			Calibration struct{ Withheld bool }
		}
	}
	args := []string{"evaluate", "--data", events, "--rank", "200", "--methods", "dynamics"}
	decode(t, mustRun(t, append(args, "--json")...), &e)
	if !e.Dynamics.Calibration.Withheld {
		t.Error("evaluate --json does not tell of it")
	}
	says(t, "evaluate", mustRun(t, append(args, "--verbose")...), "dynamics: no uncertainty")
}
