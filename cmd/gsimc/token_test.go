package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// token --add-to prints the token alone and appends its line to the file, which nobody else may
// read. What it refuses changes nothing.
func TestTokenAddTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	want := ""
	for _, name := range []string{"web", "ops"} {
		token := strings.TrimSuffix(execute(t, "token", name, "--roles", "observe", "--add-to", path),
			"\n")
		want += fmt.Sprintf("%s observe %x\n", name, sha256.Sum256([]byte(token)))
	}
	check.Same(t, want, mustRead(t, path), "the file")
	check.Same(t, os.FileMode(0o600), check.Get(os.Stat(path))(t).Mode().Perm(), "the mode")
	for text, refusal := range map[string]string{
		want: "--add-to: " + path + ": line 2 has the name ops: choose another name, or remove the " +
			"line if its token is lost",
		"\ufeffops jwt jwt\r\n": "--add-to: " + path + ": line 1 has the name ops",
		"gsimc_abc\n":           "--add-to: " + path + ": line 1 is no line of a file of tokens",
		"# a\nx y z w":          "--add-to: " + path + ": line 2 is no line of a file of tokens",
	} {
		write(t, path, text)
		code, stdout, stderr := runCLI(t, nil, "token", "ops", "--roles", "admin", "--add-to", path)
		if code != cli.ExitFailure || stdout != "" || !strings.Contains(stderr, refusal) {
			t.Errorf("exit code %d, stdout %q, stderr %q, want %q", code, stdout, stderr, refusal)
		}
		check.Same(t, text, mustRead(t, path), "the file, as it was")
	}

	// A line that has no end gets one. Others may be about signed tokens, or have a limit.
	want += "shop items jwt https://login.example gsimc groups=shop\n"
	want += fmt.Sprintf("app observe %x calls=5\n", sha256.Sum256([]byte("app")))
	write(t, path, strings.TrimSuffix(want, "\n"))
	execute(t, "token", "more", "--roles", "admin", "--add-to", path)
	if got := mustRead(t, path); !strings.HasPrefix(got, want+"more admin ") {
		t.Errorf("the file is %q", got)
	}

	// Of a token that nobody saw there is no line.
	var errs strings.Builder
	code := run([]string{"token", "lost", "--roles", "admin", "--add-to", path}, nil, fullDisk{}, &errs, nil)
	if got := mustRead(t, path); code != cli.ExitFailure || strings.Contains(got, "lost") ||
		!strings.Contains(errs.String(), "the token was not printed, and its line not added: out: no space") {
		t.Errorf("exit code %d, %s; the file is %q", code, errs.String(), got)
	}
}

// fullDisk is a file on a full disk.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "out", Err: syscall.ENOSPC}
}

// A command whose answer was not written has failed.
func TestFullDiskOfAnswers(t *testing.T) {
	_, model := smallModel(t)
	for _, args := range [][]string{{"version"}, {"model", "items", model}, {"config", "print", "serve"}} {
		var errs strings.Builder
		code := run(args, strings.NewReader(""), fullDisk{}, &errs, nil)
		if code != cli.ExitFailure || !strings.Contains(errs.String(), "standard output: no space left on device") {
			t.Errorf("%s: exit code %d, %s", args, code, errs.String())
		}
	}
}
