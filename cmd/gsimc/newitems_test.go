package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

func TestEvaluateNewItems(t *testing.T) {
	events, _ := smallModel(t)
	args := []string{"evaluate", "--data", events, "--protocol", "new-items", "--rank", "16",
		"--new-share", "0.3"}
	code, out, stderr := runCLI(t, nil, args...)
	if code != cli.ExitOK || !strings.Contains(out, "popularity") ||
		!strings.Contains(out, "dynamics") {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	code, out, stderr = runCLI(t, nil, append(args, "--json")...)
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var report struct {
		Hidden  int
		Targets struct{ New, Known int }
		Figures []map[string]any
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Hidden == 0 || report.Targets.New == 0 || report.Targets.Known == 0 {
		t.Errorf("nothing is hidden, or nothing is to be found: %s", out)
	}
	found := map[any]any{}
	for _, f := range report.Figures {
		if f["method"] == "dynamics" {
			found[f["shown"]] = f["new hr@50"]
		}
	}
	if found[0.] != 0. || found[10.] == 0. || found[10.] == nil {
		t.Errorf("the new items are found by %v, want none without users and some with ten", found)
	}
}
