package child

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// TestLongLogLines starts a child, this test program again, that logs a line of 1 MiB before it
// says that it serves, and one without an end at last.
func TestLongLogLines(t *testing.T) {
	const variable = "GSIMC_TEST_LONG_LOG"
	long := strings.Repeat("x", 1<<20)
	if os.Getenv(variable) != "" {
		fmt.Fprintln(os.Stderr, long)
		fmt.Fprintln(os.Stderr, `{"msg":"serving","grpc":"host:1","ops":"host:2"}`)
		fmt.Fprint(os.Stderr, "the end")
		os.Exit(3)
	}
	var logs proctest.Output
	s := check.Get(Start(t.Context(), os.Args[0], []string{"-test.run=^TestLongLogLines$"},
		append(os.Environ(), variable+"=1"), &logs))(t)
	if s.GRPC != "host:1" || s.Ops != "host:2" {
		t.Errorf("addresses %q and %q, want host:1 and host:2", s.GRPC, s.Ops)
	}
	if <-s.Exited(); s.Err() == nil || !strings.HasSuffix(s.Err().Error(), ": the end") {
		t.Errorf("the child ended with %v, want its code and its last line", s.Err())
	}
	if got := logs.String(); !strings.Contains(got, long) || !strings.HasSuffix(got, "the end") {
		t.Errorf("%d bytes of the log arrived, want all", len(got))
	}
}
