package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

// TestServeStartsWithSlack asks the kernel for the slack of a server's first thread, and looks for
// traces of how it came there.
func TestServeStartsWithSlack(t *testing.T) {
	_, model := smallModel(t)
	p := startServe(t, model, t.TempDir())
	defer p.mustStop(t)
	process := fmt.Sprintf("/proc/%d/", p.PID())
	slack, err := os.ReadFile(process + "timerslack_ns")
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the slack of another process cannot be read here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(slack)); got != fmt.Sprint(time.Millisecond.Nanoseconds()) {
		t.Errorf("the slack is %s ns, want that of a millisecond", got)
	}
	if args, err := os.ReadFile(process + "cmdline"); err != nil ||
		!strings.HasPrefix(string(args), p.Path()+"\x00serve\x00") {
		t.Errorf("the arguments are %q, %v; want those that the process was started with", args,
			err)
	}
}
