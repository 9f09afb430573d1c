package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// runLine runs a command line in this process.
func runLine(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), &out, &errs, args)
	return code, out.String(), errs.String()
}

// Flags that do not fit are refused with one line that names them, before anything is started.
func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--scenario speed":             `--scenario must be one of`,
		"--scenario latency --sweep n": "--sweep: leave out --scenario, or this",
		"--filter --sweep n":           "--filter: leave out --scenario and --sweep, or this",
		"--filter --server 127.0.0.1:1 --model m": "--server: leave it out: --filter starts a " +
			"server of its own",
		"--scenario catalogue --server 127.0.0.1:1 --model m": "--server: leave it out: catalogue " +
			"starts a server of its own",
		"--catalogue 5":        "--catalogue: goes with --scenario catalogue only",
		"--filter --deny 5":    "--filter: leave out --allow and --deny",
		"--sweep depth":        "--sweep must be one of",
		"--at 1,2":             "--at: goes with --sweep only",
		"--sweep k --at 64,16": "--at: 16 after 64, want ascending points",
		"--sweep history --at 1,1001": "--at: 1001, want 1 to 1000 in a sweep over " +
			"history",
		"--sweep n --items 5": "--at gives the points of a sweep over n: leave " +
			"out --items or --rank",
		"--sweep n --model m": "generates its models: leave out --model and " +
			"--server",
		"--sweep history --history 3": "--history: --at gives the points of a sweep " +
			"over it",
		"--server 127.0.0.1:1": "--server: give the --model that it serves",
		"--model m --rank 5":   "--model: leave out --items, --rank and --preset",
		"--items 1":            "--items: 1, want 2 to 1e+08",
		"--items 10 --rank 11": "--rank: 11 is above the number of items 10",
		"--users 0":            "--users: 0, want 1 to",
		"--page 1001":          "--page: 1001, want 1 to 1000",
		"--allow 10001":        "--allow: 10001, want 0 to 10000",
		"--observe-share 0.8 --stream-share .5": "--stream-share: 0.5 and --observe-share 0.8 " +
			"are more than 1 together",
		"--load 70":             `--load: "70" is not a percentage above 0, such as 70%`,
		"--load 0%":             `--load: "0%" is not a percentage`,
		"--load 50% --rate 100": "--rate: leave out --load, or this",
		"--scenario latency --rate 100": "--load and --rate: go with the mixed scenario " +
			"only",
		"--duration 0s":   "--duration: 0s, want at least 1ms",
		"--warmup -1s":    "--warmup: -1s, want 0s or more",
		"--in-flight 0":   "--in-flight: 0, want 1 to 10000",
		"--repetitions 0": "--repetitions: 0, want 1 to 1000",
	} {
		code, stdout, stderr := runLine(t, strings.Fields(args)...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 ||
			!strings.Contains(stderr, want) {
			t.Errorf("load %s: exit code %d, stdout %q, stderr %q; want 2 and %q", args,
				code, stdout, stderr, want)
		}
	}
}

// What depends on the world is found before a long measurement, and names its flag.
func TestTargets(t *testing.T) {
	model := filepath.Join(t.TempDir(), "model.gsimc")
	if err := writeBenchModel(model, 50, 4, false, 1); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--model " + t.TempDir() + "/none": "--model: ",
		"--model " + model + " --server 127.0.0.1:1": "cannot connect to 127.0.0.1:1 " +
			"(connection refused)",
		"--json /": "--json: / is a directory",
		"--model " + model + " --json /nowhere/x.json": "--json: cannot write to the folder " +
			"/nowhere",
	} {
		code, stdout, stderr := runLine(t, append(strings.Fields(args), "--quiet")...)
		if code != exitFailure || stdout != "" || strings.Count(stderr, "\n") != 1 ||
			!strings.Contains(stderr, want) {
			t.Errorf("load %s: exit code %d, stdout %q, stderr %q; want 1 and %q", args,
				code, stdout, stderr, want)
		}
	}
}
