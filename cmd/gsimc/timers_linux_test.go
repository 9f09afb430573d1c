package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestServeStartsWithSlack asks the kernel for the slack of a server's first thread, and looks for traces of how it came there.
func TestServeStartsWithSlack(t *testing.T) {
	_, model := smallModel(t)
	p := serve(t, model, t.TempDir())
	defer p.mustStop(t)
	process := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	slack, err := os.ReadFile(process + "timerslack_ns")
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the slack of another process cannot be read here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(slack)); got != fmt.Sprint(timerSlack.Nanoseconds()) {
		t.Errorf("the slack is %s ns, want that of %v", got, timerSlack)
	}
	if args, err := os.ReadFile(process + "cmdline"); err != nil || !strings.HasPrefix(string(args), p.cmd.Path+"\x00serve\x00") {
		t.Errorf("the arguments are %q, %v; want those that the process was started with", args, err)
	}
}
