// Package enginetest runs database engines for tests: real server processes on loopback, in
// folders that are removed afterwards.
//
// A server program is looked for in the PATH, or named by an environment variable. Without one the
// test is skipped, and the message names the package to install. Under -short it is skipped too:
// see soak.Processes. Engines end with the test, or with the test process where tests share them;
// package tests with shared engines call [Main]. On Linux the kernel ends them too if the test
// process is killed.
//
// Starting takes seconds, so tests share a cluster where they can, each in a [Namespace] of its
// own. A test that kills or pauses processes starts its own.
package enginetest

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/gsimc/gsimc/internal/test/soak"
)

// Namespace returns a name that no other test has, of letters and digits.
func Namespace() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return "t" + hex.EncodeToString(b[:])
}

// shared are the engines that tests of this process share, and what ends them.
var shared struct {
	mu   sync.Mutex
	ends []func()
}

// atEnd has f called at the end of Main, the last one first.
func atEnd(f func()) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.ends = append(shared.ends, f)
}

// Main runs the tests of a package, ends the engines that they share, and exits.
func Main(m *testing.M) {
	code := m.Run()
	End()
	os.Exit(code)
}

// End ends the engines that tests share, for a TestMain that does more than [Main].
func End() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for i := len(shared.ends) - 1; i >= 0; i-- {
		shared.ends[i]()
	}
	shared.ends = nil
}

// find returns the path of a server program: that of the environment variable, or the first name
// that is in the PATH. Without one it skips the test and names the package to install.
func find(tb testing.TB, variable, install string, names ...string) string {
	tb.Helper()
	soak.Processes(tb, names[0])
	if path := os.Getenv(variable); path != "" {
		return path
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	tb.Skipf("%s is not in the PATH: install %s, or set %s to the path of a server",
		strings.Join(names, " or "), install, variable)
	return ""
}
