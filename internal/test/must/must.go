// Package must has what tests say most often, so that it takes them a line.
package must

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Succeed ends the test if there is an error.
func Succeed(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Equal tells how two values differ, and of what they are. The test goes on.
func Equal(tb testing.TB, want, got any, what string, args ...any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", fmt.Sprintf(what, args...), diff)
	}
}

// Get returns a value that comes without an error, or ends the test: must.Get(os.Getwd())(t).
func Get[T any](value T, err error) func(tb testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		Succeed(tb, err)
		return value
	}
}
