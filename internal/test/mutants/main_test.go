package main

import (
	"os"
	"testing"
)

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
