// Package soak lets a test of a promise inject more faults than a change has to wait for, and lets
// it say how many it injected. The numbers in the repository are those of make test; make soak
// multiplies them.
package soak

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// variable is the environment variable that holds the factor, a whole number from 1 on.
const variable = "GSIMC_SOAK"

// mark begins the lines that Injected logs.
const mark = "injected: "

// Times returns the number of repetitions that a test makes which makes n of them in make test.
func Times(n int) int { return n * factor() }

// Long reports whether the test runs in make soak: it may then take minutes.
func Long() bool { return factor() > 1 }

func factor() int {
	text := os.Getenv(variable)
	if text == "" {
		return 1
	}
	f, err := strconv.Atoi(text)
	if err != nil || f < 1 {
		panic(fmt.Sprintf("%s=%q is not a whole number from 1 on", variable, text))
	}
	return f
}

// Injected logs that the test injected n faults of a kind, which is in the plural: "power cuts".
// internal/test/promises adds them up.
func Injected(tb testing.TB, n int, kind string) {
	tb.Helper()
	tb.Logf("%s%d %s", mark, n, kind)
}

// ParseInjected finds in a line of a test's log what Injected has logged.
func ParseInjected(line string) (n int, kind string, ok bool) {
	_, rest, ok := strings.Cut(line, mark)
	if !ok {
		return 0, "", false
	}
	number, kind, ok := strings.Cut(strings.TrimSpace(rest), " ")
	if !ok {
		return 0, "", false
	}
	n, err := strconv.Atoi(number)
	return n, kind, err == nil
}
