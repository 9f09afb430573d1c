// Package failpoint is compiled into gsimc by tests only, which put calls of Hit into the code on
// its way to the compiler.
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The environment variable GSIMC_FAILPOINT is "NAME ACTION N": the action takes place when the
// point is reached for the N-th time. Without it the points count.
var point, action, when = parse(os.Getenv("GSIMC_FAILPOINT"))

// GSIMC_FAILPOINT_FILE is a file which may come at any time. Once it is there the process kills
// itself at the point that the file names.
var file = os.Getenv("GSIMC_FAILPOINT_FILE")

var (
	mu   sync.Mutex
	hits = map[string]int{}
)

func parse(text string) (point, action string, when int) {
	words := strings.Fields(text)
	if len(words) != 3 {
		return "", "", 0
	}
	when, err := strconv.Atoi(words[2])
	if err != nil {
		panic(err)
	}
	return words[0], words[1], when
}

// Hit is called at the point of this name. It says on standard error when the action takes place;
// without an action it says the count, at 1, 2, 4, 8, …
func Hit(name string) {
	mu.Lock()
	hits[name]++
	n := hits[name]
	mu.Unlock()
	if action == "" && n&(n-1) == 0 || name == point && n == when {
		fmt.Fprintf(os.Stderr, "failpoint %s %d\n", name, n)
	}
	if text, err := os.ReadFile(file); err == nil && string(text) == name {
		self, _ := os.FindProcess(os.Getpid()) // never fails where there are signals
		_ = self.Kill()
		select {}
	}
	if name != point || n != when {
		return
	}
	switch action {
	case "exit":
		os.Exit(3)
	case "panic":
		panic("failpoint " + name)
	case "sleep":
		time.Sleep(500 * time.Millisecond)
	}
}
