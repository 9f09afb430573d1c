// Package check says in one line what tests check most. What it wants stands before what it got,
// and a text says what was checked.
package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// Must ends a test that cannot go on.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns a value that comes without an error, or ends the test: check.Get(os.Getwd())(t).
func Get[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Must(t, err)
		return value
	}
}

// Err returns the error of a call that returns a value as well.
func Err[T any](_ T, err error) error { return err }

// Same checks that a value is the wanted one. The text may end with what the signs of the
// difference mean.
func Same(t testing.TB, want, got any, what string, args ...any) {
	t.Helper()
	if text := difference(want, got, what, protocmp.Transform()); text != "" {
		t.Errorf("%s%s", fmt.Sprintf(what, args...), text)
	}
}

// SameBy is [Same] by an option of package cmp alone.
func SameBy(t testing.TB, by cmp.Option, want, got any, what string, args ...any) {
	t.Helper()
	if text := difference(want, got, what, by); text != "" {
		t.Errorf("%s%s", fmt.Sprintf(what, args...), text)
	}
}

// MustSame is [Same] of a value without which a test cannot go on.
func MustSame(t testing.TB, want, got any, what string, args ...any) {
	t.Helper()
	if text := difference(want, got, what, protocmp.Transform()); text != "" {
		t.Fatalf("%s%s", fmt.Sprintf(what, args...), text)
	}
}

// difference is empty for values that are the same.
func difference(want, got any, what string, by cmp.Option) string {
	if a, ok := want.(proto.Message); ok {
		if b, ok := got.(proto.Message); ok && proto.Equal(a, b) {
			return "" // which takes much less time than a difference
		}
	}
	d := cmp.Diff(want, got, by)
	if d == "" {
		return ""
	}
	signs := " (-want +got)"
	if strings.Contains(what, "(-") {
		signs = ""
	}
	return fmt.Sprintf("%s:\n%.20000s", signs, d)
}

// Pass checks that there is no error.
func Pass(t testing.TB, err error, what string, args ...any) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", fmt.Sprintf(what, args...), err)
	}
}

// Fails checks that an error is the wanted one, or wraps it.
func Fails(t testing.TB, err, want error, what string, args ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", fmt.Sprintf(what, args...), err, want)
	}
}

// Says checks that an error says something; if it is to say nothing, that there is none.
func Says(t testing.TB, err error, want, what string, args ...any) {
	t.Helper()
	said := ""
	if err != nil {
		said = err.Error()
	}
	if (err == nil) != (want == "") || !strings.Contains(said, want) {
		t.Errorf("%s: error %v, want %q", fmt.Sprintf(what, args...), err, want)
	}
}

// Has checks that a text has a part.
func Has(t testing.TB, text, part, what string, args ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s: no %q in\n%.20000s", fmt.Sprintf(what, args...), part, text)
	}
}

// Lacks checks that a text does not have a part.
func Lacks(t testing.TB, text, part, what string, args ...any) {
	t.Helper()
	if strings.Contains(text, part) {
		t.Errorf("%s: %q is in\n%.20000s", fmt.Sprintf(what, args...), part, text)
	}
}

// Panics checks that a call panics with a text that begins with these words.
func Panics(t testing.TB, words, what string, call func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), words) {
			t.Errorf("%s: the panic is %v, want %q", what, p, words)
		}
	}()
	call()
}

// Await waits until something holds, and returns how long that took. It ends the test after two
// minutes, far above what a quiet machine needs.
func Await(t testing.TB, what string, holds func() bool) time.Duration {
	t.Helper()
	return Within(t, 2*time.Minute, what, holds)
}

// Within is [Await] with another patience.
func Within(t testing.TB, patience time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	for !holds() {
		if time.Since(begun) > patience {
			t.Fatalf("not within %v: %s", patience, what)
			return patience
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begun)
}

// Return returns what a call does, and ends the test if it hangs.
func Return(t testing.TB, what string, call func() error) error {
	t.Helper()
	const patience = 10 * time.Second
	returned := make(chan error, 1)
	go func() { returned <- call() }()
	select {
	case err := <-returned:
		return err
	case <-time.After(patience):
		t.Fatalf("%s has not returned after %v", what, patience)
		return nil
	}
}
