package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// A plan names every stage, with a time and a memory, and writes nothing.
func TestTrainPlan(t *testing.T) {
	events, path := smallModel(t)
	before := check.Get(os.ReadDir(filepath.Dir(path)))(t)
	for _, c := range []struct {
		flags, stages []string
		missing       string
	}{
		{nil, []string{"reading", "graph", "eigenvectors", "dynamics: sums", "dynamics: regression",
			"dynamics: noise", "model file", "total", "there is"}, "nothing"},
		{[]string{"--no-deviation"}, []string{"dynamics: sums"}, "dynamics: noise"},
		{[]string{"--preset", "paper"}, []string{"eigenvectors", "model file"}, "dynamics"},
	} {
		out := mustRun(t, append([]string{"train", "--data", events, "--plan", "--rank", "16"},
			c.flags...)...)
		for _, stage := range c.stages {
			says(t, "the plan", out, "  "+stage)
		}
		check.Lacks(t, out, c.missing, "the plan of %v", c.flags)
	}
	after := check.Get(os.ReadDir(filepath.Dir(path)))(t)
	check.Same(t, len(before), len(after), "files after the plans")
}

func TestTrainRefusesWhatDoesNotFit(t *testing.T) {
	events, _ := smallModel(t)
	out := filepath.Join(t.TempDir(), "model.gsimc")
	code, _, stderr := runCLI(t, nil, "train", "--data", events, "--out", out, "--rank", "16",
		"--memory-limit", "4MiB")
	says(t, "the error", stderr, "the training needs about ", " of memory, in the stage ",
		"and there are 4.0 MiB", "--rank", "--memory-limit")
	check.Same(t, cli.ExitFailure, code, "exit code")
	if _, err := os.Stat(out); err == nil {
		t.Error("a model was written all the same")
	}
}
