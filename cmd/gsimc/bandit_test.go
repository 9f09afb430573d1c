package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/learn/evaluate"
)

func TestEvaluateBandit(t *testing.T) {
	events, _ := smallModel(t)
	args := []string{"evaluate", "--data", events, "--protocol", "bandit", "--rank", "16",
		"--bandit-users", "9"}
	code, out, stderr := runCLI(t, nil, args...)
	if code != cli.ExitOK || !strings.Contains(out, "9 new users, 20 lists of 10 items") ||
		strings.Count(out, "thompson") != 2 {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	var first, second struct{ Policies []evaluate.BanditResult }
	for _, report := range []any{&first, &second} {
		code, out, stderr := runCLI(t, nil, append(args, "--json")...)
		if code != cli.ExitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		if err := json.Unmarshal([]byte(out), report); err != nil {
			t.Fatal(err)
		}
	}
	if len(first.Policies) != len(evaluate.Policies()) || !cmp.Equal(first, second) {
		t.Errorf("two runs with one seed report %+v and %+v", first, second)
	}
}
