// Package must has what tests say most often, so that it takes them a line.
package must

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Succeed ends the test if there is an error.
func Succeed(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Equal tells how two values differ, which may be cut off, and of what they are. The test goes on.
func Equal(tb testing.TB, want, got any, what string, args ...any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%.20000s", fmt.Sprintf(what, args...), diff)
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

// Await waits until something holds, and ends the test if that takes more than 10 seconds.
func Await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	Within(tb, 10*time.Second, what, holds)
}

// Within waits until something holds, and ends the test if that takes too long.
func Within(tb testing.TB, patience time.Duration, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("waited %v until %s", patience, what)
		}
	}
}

// Return returns what a call does, and ends the test if it hangs.
func Return(tb testing.TB, what string, call func() error) error {
	tb.Helper()
	const patience = 10 * time.Second
	returned := make(chan error, 1)
	go func() { returned <- call() }()
	select {
	case err := <-returned:
		return err
	case <-time.After(patience):
		tb.Fatalf("%s has not returned after %v", what, patience)
		return nil
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
	if text := fmt.Sprint(err); err == nil || !strings.Contains(text, want) {
		tb.Errorf("%s: got error %v, want one that says %q", fmt.Sprintf(what, args...), err, want)
	}
}

// Pass reports an error of something that is to succeed. The test goes on.
func Pass(tb testing.TB, err error, what string, args ...any) {
	tb.Helper()
	if err != nil {
		tb.Errorf("%s: %v", fmt.Sprintf(what, args...), err)
	}
}
