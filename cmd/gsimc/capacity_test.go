package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/capacity"
)

// The table and the object of --json are those of the plan.
func TestCapacity(t *testing.T) {
	args := strings.Fields("capacity --users 100000000 --items 20000 --events 10000000000 " +
		"--events-per-second 1000000 --recommends-per-second 200000 --store valkey")
	code, text, stderr := runCLI(t, nil, args...)
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"valkey               111", "3.83 TB", "6 servers; 37 shards",
		"breaks first: memory of a training", "costs most: valkey",
		"keep the histories on disk, in PostgreSQL"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	_, text, _ = runCLI(t, nil, append(args, "--json")...)
	var got capacity.Plan
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Need.Users != 1e8 || got.Shards != 37 || len(got.Parts) != 4 || len(got.Limits) != 4 ||
		got.Training.CoreHours < 1 {
		t.Errorf("--json: %+v", got)
	}
	args = strings.Fields("capacity --users 1000 --items 3000 --events 100000 --rank 64 " +
		"--events-per-second 1 --recommends-per-second 1")
	if _, text, _ = runCLI(t, nil, args...); !strings.Contains(text, "everything fits") ||
		!strings.Contains(text, "1 server; 1 shard") {
		t.Errorf("a small service:\n%s", text)
	}
}
