package cli

import (
	"strings"
	"testing"
)

// An error is one line, however many its text has.
func TestErrorIsOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"no":                          "gsimc: no\n",
		"first\nsecond\n":             "gsimc: first; second\n",
		"cannot:\n\tthis\n\tnor this": "gsimc: cannot: this; nor this\n",
	} {
		var out strings.Builder
		if code := fail(&out, text, 3); code != 3 || out.String() != want {
			t.Errorf("%q: %q and code %d, want %q and 3", text, out.String(), code, want)
		}
	}
}
