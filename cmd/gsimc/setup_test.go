package main

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server"
)

// `config print` names each value and where it is from, and its output is a file that gives the
// same values.
func TestConfigPrint(t *testing.T) {
	file := writeFile(t, "gsimc.yaml", "drain-delay: 7s\nevent-weight:\n  view: 0.2\n  buy: 3\n")
	env := []string{"GSIMC_STATE_CACHE=1GiB", "GSIMC_CONFIG=" + file}
	out, _ := mustRunIn(t, env, "config", "print", "serve")
	says(t, "config print", out, "state-cache: 1GiB # GSIMC_STATE_CACHE\n",
		"drain-delay: 7s # "+file+"\n", "drain-timeout: 25s # default\n",
		`event-weight: "view=0.2,buy=3" # `+file, "# model: not set\n")
	again := mustRun(t, "config", "print", "serve", "--config", writeFile(t, "printed.yaml", out))
	check.Same(t, values(out), values(again), "values by the file of the output")
	refused(t, cli.ExitUsage, "no command", "config", "print", "nosuch")
	refused(t, cli.ExitUsage, "line 1: --drain-delay is a flag of serve, and not of train",
		"config", "print", "train", "--config", file)
	code, _, stderr := runCLI(t, []string{"GSIMC_DRAIN_DELAY=soon"}, "config", "print", "serve")
	check.Same(t, cli.ExitFailure, code, "a value that does not fit: exit code")
	says(t, "a value that does not fit", stderr, "--drain-delay: ", "(from GSIMC_DRAIN_DELAY)")
}

// `config print` shows no password, wherever one is that `serve` would refuse; nor does the
// refusal.
func TestConfigPrintHidesPasswords(t *testing.T) {
	for _, address := range []string{"postgres://ann:S3CRET@h/d", "redis://:S3CRET@h:1/n",
		"host=h password=S3CRET", "postgres://h/d?password=S3CRET"} {
		file := writeFile(t, "gsimc.yaml", "store: "+strconv.Quote(address)+"\n")
		for source, env := range map[string][]string{
			"GSIMC_STORE": {"GSIMC_STORE=" + address}, file: {"GSIMC_CONFIG=" + file},
		} {
			code, out, stderr := runCLI(t, env, "config", "print", "serve")
			if code != cli.ExitOK || strings.Contains(out+stderr, "S3CRET") ||
				!strings.Contains(out, "xxxxx") ||
				!strings.Contains(out, source+", with a password that is not shown\n") {
				t.Errorf("%s of %s: exit code %d, %s%s", address, source, code, out, stderr)
			}
			if code, out, stderr = runCLI(t, env, "serve"); code != cli.ExitUsage &&
				code != cli.ExitFailure || strings.Contains(out+stderr, "S3CRET") {
				t.Errorf("serve with %s: exit code %d, %s%s", address, code, out, stderr)
			}
		}
	}
}

// values are the lines of a printed configuration without their sources.
func values(printed string) string {
	var b strings.Builder
	for line := range strings.Lines(printed) {
		value, _, _ := strings.Cut(line, " # ")
		b.WriteString(value + "\n")
	}
	return b.String()
}

// The defaults of serve are those of the server: they stand once.
func TestServeDefaults(t *testing.T) {
	_, out, _ := runCLI(t, nil, "config", "print", "serve")
	d := server.DefaultConfig()
	for _, want := range []string{
		`listen: "` + d.Listen + `"`, "state-cache: " + cli.ByteSize(d.StateCacheBytes).String(),
		"extend-every: " + cli.DurationText(d.ExtendEvery),
		"max-connection-age: " + cli.DurationText(d.MaxConnectionAge), "estimator: " +
			string(d.Estimator),
	} {
		check.Has(t, out, "\n"+want+" # default\n", "the settings")
	}
}

func TestVersionFlag(t *testing.T) {
	code, flag, stderr := runCLI(t, []string{"GSIMC_VERSION=1"}, "--version")
	_, command, _ := runCLI(t, []string{"GSIMC_VERSION=1"}, "version")
	if code != cli.ExitOK || flag != command || !strings.HasPrefix(flag, "gsimc ") {
		t.Errorf("exit code %d, %q and %q, %s", code, flag, command, stderr)
	}
}

// The shells ask for the words that may follow.
func TestComplete(t *testing.T) {
	for words, want := range map[string]string{
		"":                           "serve",
		"model":                      "items",
		"serve":                      "--drain-delay",
		"serve --store":              "memory",
		"serve --reflection --store": "pebble",
		"serve --data-dir x":         "--model",
	} {
		_, out, _ := runCLI(t, nil, append([]string{"complete", "--"}, strings.Fields(words)...)...)
		says(t, words, "\n"+out, "\n"+want+"\n")
	}
	if _, out, _ := runCLI(t, nil, "complete", "--", "train", "--data"); out != "" {
		t.Errorf("the name of a file is completed by %q", out)
	}
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"},
		"fish": {"--no-execute"}} {
		_, script, _ := runCLI(t, nil, "completion", shell)
		says(t, shell, script, "gsimc complete -- ")
		if path, err := exec.LookPath(shell); err == nil {
			cmd := exec.Command(path, append(check, writeFile(t, "script", script))...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s does not take its script: %v: %s", shell, err, out)
			}
		}
	}
}
