package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// One command goes from a file to a server that knows the users of the file, and an interrupt ends
// it with exit code 0 and without a trace.
func TestStandalone(t *testing.T) {
	t.Parallel()
	events, _ := smallModel(t)
	temp := t.TempDir()
	p := proctest.Start(t, []string{"TMPDIR=" + temp}, binary(t), "standalone", events, "--listen",
		"127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
		"--json-listen", "127.0.0.1:0")
	await(t, "it serves", func() bool { return strings.Contains(p.Out.String(), "/similar'\n") })
	out := p.Out.String()
	// It trains once: the figures are those of the training, and then it serves.
	var steps []string
	for _, step := range regexp.MustCompile(`(?m)^\$ gsimc (\S+)`).FindAllStringSubmatch(out, -1) {
		steps = append(steps, step[1])
	}
	check.Same(t, []string{"validate", "train", "serve", "observe"}, steps, "commands")
	says(t, "standalone", out, "6000, 0 bad", "quality ", "of popularity ", "6000 applied",
		"operators ", "console ")
	for _, call := range regexp.MustCompile(`curl '(.*)'`).FindAllStringSubmatch(out, -1) {
		says(t, call[1], get(t, call[1]), `"items":[{"itemId":"i`)
	}
	ops := regexp.MustCompile(`operators +(\S+)`).FindStringSubmatch(out)
	says(t, "metrics", get(t, ops[1]+"/metrics"), "gsimc_")
	user := regexp.MustCompile(`recommend --server (\S+) --user (\S+)`).FindStringSubmatch(out)
	// The history of the file is there, to its last event.
	says(t, "user "+user[2], execute(t, "user", "show", "--server", user[1], "--user", user[2]),
		"120 events")
	p.Signal(t, syscall.SIGINT)
	check.Same(t, cli.ExitOK, p.Wait(), "%s: exit code", &p.Err)
	says(t, "the end", p.Out.String(), "\nStopped. The files go too; --dir keeps them.\n")
	check.Lacks(t, p.Out.String(), "next: ", "what it tells the user to do")
	check.Lacks(t, p.Err.String(), "--store-id", "advice of a command without that flag")
	mustBeEmpty(t, temp)
}

// With a folder it says at its end how the files are served again.
func TestStandaloneKeeps(t *testing.T) {
	t.Parallel()
	events, _ := smallModel(t)
	dir := filepath.Join(t.TempDir(), "my try")
	p := proctest.Start(t, nil, binary(t), "standalone", events, "--quick", "--dir", dir,
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
		"--json-listen", "127.0.0.1:0")
	await(t, "it serves", func() bool { return strings.Contains(p.Out.String(), "/similar'\n") })
	p.Signal(t, syscall.SIGINT)
	check.Same(t, cli.ExitOK, p.Wait(), "exit code")
	says(t, "the end", p.Out.String(), "\nStopped. The files in "+dir+" are served again by:\n"+
		"  gsimc serve --model '"+dir+"/model.gsimc' --data-dir '"+dir+"/state' --listen ")
}

// A second signal ends it at once, while a call holds up its end, and leaves nothing behind either.
func TestStandaloneEndsAtOnce(t *testing.T) {
	t.Parallel()
	events, _ := smallModel(t)
	temp := t.TempDir()
	p := proctest.Start(t, []string{"TMPDIR=" + temp}, binary(t), "standalone", events, "--quick",
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
		"--json-listen", "127.0.0.1:0")
	await(t, "it serves", func() bool { return strings.Contains(p.Out.String(), "/similar'\n") })
	address := regexp.MustCompile(`curl 'http://([^/]+)/`).FindStringSubmatch(p.Out.String())[1]
	call := check.Get(net.Dial("tcp", address))(t)
	defer call.Close()
	check.Get(io.WriteString(call, "POST /v1/events HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Length: 99\r\n\r\n{"))(t)
	time.Sleep(200 * time.Millisecond) // nothing shows that the call has begun
	p.Signal(t, syscall.SIGINT)
	p.Signal(t, syscall.SIGTERM) // which is not taken for the first one
	check.Same(t, cli.ExitInterrupted, p.Wait(), "%s: exit code", &p.Err)
	mustBeEmpty(t, temp)
}

// What cannot work is refused before anything is trained, and nothing is left.
func TestStandaloneRefuses(t *testing.T) {
	busy := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer busy.Close()
	free := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--ops-listen",
		"127.0.0.1:0", "--json-listen", "127.0.0.1:0"}
	bad := writeFile(t, "bad.csv", "user_id,item_id\n,x\n")
	earlier := t.TempDir()
	check.Must(t, os.Mkdir(filepath.Join(earlier, "state"), 0o700))
	taken := busy.Addr().String()
	bothTaken := []string{"--ops-listen", taken, "--json-listen", taken}
	inUse := "listen tcp " + taken + ": bind: address already in use; give another address, or " +
		"port 0 for any"
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(bothTaken, bad), "--ops-listen: " + inUse + "; --json-listen: " + inUse},
		{[]string{bad}, "no interactions"},
		{[]string{bad, "--dir", earlier}, "note: " + earlier + "/state has histories of an earlier"},
		{append(bothTaken, "/does/not/exist.csv"), "gsimc: /does/not/exist.csv: no such file"},
	} {
		temp := t.TempDir()
		t.Setenv("TMPDIR", temp)
		refused(t, cli.ExitFailure, c.want, append(append([]string{"standalone"}, free...),
			c.args...)...)
		mustBeEmpty(t, temp)
	}
}
