package main

import (
	"errors"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestReport: an example that fails, or prints anything else, fails the command; one that is
// skipped does not.
func TestReport(t *testing.T) {
	same := outcome{printed: "a\n"}
	for _, tt := range []struct {
		last outcome
		ok   bool
	}{
		{same, true},
		{outcome{skipped: "mvn is not installed"}, true},
		{outcome{printed: "b\n"}, false},
		{outcome{err: errors.New("exit status 1")}, false},
	} {
		if err := report([]outcome{same, same, tt.last}); (err == nil) != tt.ok {
			t.Errorf("%+v: %v, want an error: %t", tt.last, err, !tt.ok)
		}
	}
	if err := report([]outcome{{skipped: "curl is not installed"}}); err != nil {
		t.Error(err)
	}
}

func TestUnreachable(t *testing.T) {
	for text, want := range map[string]bool{
		"npm error code ECONNREFUSED":                               true,
		"ERROR: Could not find a version that satisfies the re":     true,
		"Example.java:[12,5] cannot find symbol":                    false,
		"example.ts(25,13): error TS2532: Object is possibly 'und'": false,
		"": false,
	} {
		check.Same(t, want, unreachable(text), "%q", text)
	}
}

// TestFromJSON: the lines come from what curl printed.
func TestFromJSON(t *testing.T) {
	const printed = `{"userRevision":"1"}{"items":[{"itemId":"i1","score":0.5},{"itemId":"i2",` +
		`"score":0.25}]}{"items":[{"itemId":"i1","score":0.5}]}{"code":3,"details":[{"reason":"R"},` +
		`{"fieldViolations":[{"field":"f","description":"d","reason":"R"}]}]} HTTP `
	got, err := fromJSON(printed + "400\n")
	want := "revision 1\nlist i1 i2\nscore 0.5000\nrefused INVALID_ARGUMENT R f d\n"
	if got != want || err != nil {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
	if _, err := fromJSON(printed + "200\n"); err == nil {
		t.Error("a mistake that is answered with 200 passes")
	}
	if _, err := fromJSON("<html> HTTP 400"); err == nil {
		t.Error("what is no JSON passes")
	}
}
