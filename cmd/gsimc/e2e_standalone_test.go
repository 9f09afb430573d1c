package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// One command goes from a file to a server that knows the users of the file, and an interrupt ends
// it with exit code 0 and without a trace.
func TestStandalone(t *testing.T) {
	t.Parallel()
	events, _ := smallModel(t)
	temp := t.TempDir()
	out, errs := &serverLog{}, &serverLog{}
	cmd := exec.Command(binary(t), "standalone", events, "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--json-listen",
		"127.0.0.1:0")
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	if !eventually(func() bool {
		return strings.Contains(out.String(), "/similar'\n")
	}) {
		t.Fatalf("it does not serve:\n%s\n%s", out, errs)
	}
	// It trains once: the figures are those of the training, and then it serves.
	var steps []string
	for _, step := range regexp.MustCompile(`(?m)^\$ gsimc (\S+)`).FindAllStringSubmatch(
		out.String(), -1) {
		steps = append(steps, step[1])
	}
	if want := []string{"validate", "train", "serve", "observe"}; !slices.Equal(steps, want) {
		t.Errorf("commands %v, want %v", steps, want)
	}
	for _, want := range []string{"6000, 0 bad", "quality ", "of popularity ", "6000 applied",
		"operators ", "console "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q:\n%s", want, out)
		}
	}
	for _, call := range regexp.MustCompile(`curl '(.*)'`).FindAllStringSubmatch(out.String(), -1) {
		if answer := get(t, call[1]); !strings.Contains(answer, `"items":[{"itemId":"i`) {
			t.Errorf("%s: %s", call[1], answer)
		}
	}
	ops := regexp.MustCompile(`operators +(\S+)`).FindStringSubmatch(out.String())
	if page := get(t, ops[1]+"/metrics"); !strings.Contains(page, "gsimc_") {
		t.Errorf("no metrics at %s", ops[1])
	}
	user := regexp.MustCompile(`recommend --server (\S+) --user (\S+)`).FindStringSubmatch(
		out.String())
	// The history of the file is there, to its last event.
	if got := execute(t, "user", "show", "--server", user[1], "--user", user[2]); !strings.Contains(
		got, "120 events") {
		t.Errorf("user %s: %s", user[2], got)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ends with %v: %s", err, errs)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// What cannot work is refused before anything is trained, and nothing is left.
func TestStandaloneRefuses(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	free := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--ops-listen",
		"127.0.0.1:0", "--json-listen", "127.0.0.1:0"}
	bad := writeFile(t, "bad.csv", "user_id,item_id\n,x\n")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-"}, cli.ExitUsage, "standard input is read once"},
		{[]string{bad, "--ops-listen", busy.Addr().String()}, cli.ExitFailure,
			"--ops-listen: "},
		{[]string{bad}, cli.ExitFailure, "no interactions"},
		{[]string{"/does/not/exist.csv"}, cli.ExitFailure, "/does/not/exist.csv: no such file"},
	} {
		temp := t.TempDir()
		t.Setenv("TMPDIR", temp)
		var stdout, stderr bytes.Buffer
		args := append(append([]string{"standalone"}, free...), c.args...)
		code := run(args, strings.NewReader(""), &stdout, &stderr, nil)
		if code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, stderr.String())
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%v: left behind: %v (%v)", c.args, left, err)
		}
	}
}
