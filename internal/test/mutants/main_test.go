package main

import (
	"os"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// What stands behind the test has no order.
func TestParse(t *testing.T) {
	for _, words := range []string{"race other", "other race"} {
		m := parse("one: it breaks\na/b.go TestB " + words + "\n-was\n+is\n")[0]
		check.Same(t, true, m.race, "race of %q", words)
		check.Same(t, "other", m.pkg, "the folder of %q", words)
	}
}

// Each mutant still fits the code that it breaks. To run them all takes minutes; this notices at once
// that code has changed and its mutant has not.
func TestMutantsFit(t *testing.T) {
	t.Chdir("../../..")
	names := make(map[string]bool)
	for _, m := range mutants {
		if names[m.name] {
			t.Errorf("two mutants are called %s", m.name)
		}
		names[m.name] = true
		if _, err := m.overlay(t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if _, err := os.Stat(m.pkg); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
