// Package must has what tests say most often, so that it takes them a line.
package must

import (
	"errors"
	"fmt"
	"strings"
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

// Fail reports an error of something that is not the wanted one. The test goes on.
func Fail(tb testing.TB, err, want error, what string, args ...any) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%s: got error %v, want %v", fmt.Sprintf(what, args...), err, want)
	}
}

// Say reports an error of something that does not say what is wanted. The test goes on.
func Say(tb testing.TB, err error, want, what string, args ...any) {
	tb.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		tb.Errorf("%s: got error %v, want one that says %q", fmt.Sprintf(what, args...), err, want)
	}
}
