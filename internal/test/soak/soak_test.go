package soak

import (
	"flag"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// short sets -short for a test.
func short(t *testing.T, value string) {
	t.Helper()
	was := flag.Lookup("test.short").Value.String()
	check.Must(t, flag.Set("test.short", value))
	t.Cleanup(func() { _ = flag.Set("test.short", was) }) // a value that it had
}

func TestTimes(t *testing.T) {
	short(t, "false")
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

func TestFewerUnderShort(t *testing.T) {
	short(t, "true")
	for n, want := range map[int]int{1: 1, 20: 1, 100: 5} {
		check.Same(t, want, Times(n), "Times(%d)", n)
	}
	t.Setenv(seedFrom, "7")
	some := Some(t, 100)
	if len(some) != 5 || !slices.IsSorted(some) || some[0] < 0 || some[4] > 99 {
		t.Errorf("a sample of 100 cases: %v", some)
	}
	check.Same(t, Some(t, 100), some, "cases by the same seed")
	ran, chance := 0, Chance(t)
	for range 2000 {
		if chance() {
			ran++
		}
	}
	if ran < 50 || ran > 200 {
		t.Errorf("%d of 2000 cases run, want some 100", ran)
	}
	t.Setenv(seedFrom, "8")
	if others := Some(t, 100); slices.Equal(some, others) {
		t.Errorf("two seeds give %v", some)
	}
	check.Same(t, []int{0, 1, 2}, SomeOf(t, 3, 5), "5 of 3 cases")
	short(t, "false")
	check.Same(t, []int{0, 1, 2}, Some(t, 3), "all of 3 cases")
}

func TestOneIn(t *testing.T) {
	for _, c := range []struct {
		short, soak string
		n           int
		most, least int // of 2000
	}{
		{"false", "", 4, 650, 350}, {"true", "", 4, 200, 50}, {"false", "2", 4, 2000, 2000},
		{"false", "", 1, 2000, 2000},
	} {
		short(t, c.short)
		t.Setenv(variable, c.soak)
		t.Setenv(seedFrom, "7")
		ran, one := 0, OneIn(t, c.n)
		for range 2000 {
			if one() {
				ran++
			}
		}
		if ran < c.least || ran > c.most {
			t.Errorf("%+v: %d cases run", c, ran)
		}
	}
}

// Slow and Native skip where they say, and nowhere else.
func TestSlow(t *testing.T) {
	for _, c := range []struct {
		name, short, emulated string
		slow, native          bool // whether they skip
	}{
		{"make test-all", "false", "", raceEnabled, raceEnabled},
		{"make test", "true", "", true, raceEnabled},
		{"emulator", "false", "1", true, true},
	} {
		short(t, c.short)
		t.Setenv(emulated, c.emulated)
		for what, skips := range map[string]bool{"Slow": c.slow, "Native": c.native} {
			var inner *testing.T
			t.Run(c.name+", "+what, func(t *testing.T) {
				inner = t
				if what == "Slow" {
					Slow(t)
				} else {
					Native(t)
				}
			})
			check.Same(t, skips, inner.Skipped(), "%s: %s skips", c.name, what)
		}
		check.Same(t, c.slow, Brief(), "%s: Brief()", c.name)
	}
}

// Under -short a test that starts processes runs only if it says that it has to.
func TestProcesses(t *testing.T) {
	short(t, "true")
	run := func() (skipped bool) {
		t.Run("part", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			Processes(t, "a database")
		})
		return skipped
	}
	if !run() {
		t.Error("a test with a database runs under -short")
	}
	Only(t)
	defer only.Delete(t.Name())
	if run() {
		t.Error("the only test of a promise is skipped")
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
