package proctest_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// ending is a test that notes why it ends.
type ending struct {
	testing.TB
	why string
}

func (e *ending) Fatalf(format string, args ...any) {
	e.why = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// A process that has ended is not waited for: the test tells what it said in the place of what was
// wanted. What it said before it ended is found.
func TestSaysOfOneThatHasEnded(t *testing.T) {
	p := proctest.Start(t, nil, os.Args[0], "-no-such-flag")
	check.Same(t, "such", p.Says(t, "not defined: -no-(.*)-flag"), "a part of what it said")
	e := &ending{TB: t}
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.Says(e, "serving (.*)")
	}()
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("it is waited for after a minute")
	}
	for _, want := range []string{"exit status 2", "serving (.*)", "not defined: -no-such-flag"} {
		check.Has(t, e.why, want, "why the test ends")
	}
	check.Same(t, 2, p.Wait(), "exit code")
}
