package soak

import "testing"

func TestTimes(t *testing.T) {
	t.Setenv(variable, "")
	if got := Times(7); got != 7 || Long() {
		t.Errorf("Times(7) = %d, Long() = %v without the variable, want 7, false", got, Long())
	}
	t.Setenv(variable, "20")
	if got := Times(7); got != 140 || !Long() {
		t.Errorf("Times(7) = %d, Long() = %v with 20, want 140, true", got, Long())
	}
	for _, bad := range []string{"0", "-1", "much"} {
		t.Setenv(variable, bad)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s=%q is taken", variable, bad)
				}
			}()
			Times(1)
		}()
	}
}

func TestParseInjected(t *testing.T) {
	n, kind, ok := ParseInjected("    loss_test.go:128: injected: 360 flipped bits\n")
	if n != 360 || kind != "flipped bits" || !ok {
		t.Errorf("got %d, %q, %v", n, kind, ok)
	}
	for _, line := range []string{"", "injected: many power cuts", "injected: 3", "PASS"} {
		if _, _, ok := ParseInjected(line); ok {
			t.Errorf("%q is taken for a count", line)
		}
	}
}
