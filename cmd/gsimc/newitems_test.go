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
	if code != cli.ExitOK || !strings.Contains(out, "trained on all") ||
		!strings.Contains(out, "and extended") {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	code, out, stderr = runCLI(t, nil, append(args, "--json", "--methods", "bgs-online power")...)
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var report struct {
		Hidden  int
		Methods map[string]struct {
			Models map[string]struct {
				Placed int
				New    struct {
					Users   int
					Figures map[string]float64
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	models := report.Methods["bgs-online power"].Models
	extended, without := models["and extended"], models["trained without them"]
	if report.Hidden == 0 || extended.Placed == 0 || extended.New.Users == 0 ||
		extended.New.Figures["hr@100"] == 0 {
		t.Errorf("nothing was hidden, placed or found: %s", out)
	}
	if without.Placed != 0 || without.New.Figures["hr@100"] != 0 {
		t.Errorf("hidden items were found by the model that does not know them: %s", out)
	}
}
