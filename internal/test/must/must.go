// Package must ends tests whose preparations fail, so that each takes a line.
package must

import "testing"

// Succeed ends the test if there is an error.
func Succeed(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
