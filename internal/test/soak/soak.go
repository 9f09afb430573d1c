// Package soak says how much of its work a test does. There are three measures of it.
//
//   - make test gives -short: a twentieth of the faults, and a sample of the cases.
//   - make test-all has the numbers that stand in the tests.
//   - make soak multiplies them, and lets tests say how many faults they injected.
//
// Besides, a test says here that it is slow, and is left out where the race detector or an emulator
// would make minutes of it.
package soak

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Environment variables.
const (
	variable = "GSIMC_SOAK"     // the factor, a whole number from 1 on
	seedFrom = "GSIMC_SEED"     // the seed of samples
	emulated = "GSIMC_EMULATED" // set where an emulator runs the tests
)

// mark begins the lines that Injected logs.
const mark = "injected: "

// fraction is the part of the faults and cases that remains under -short.
const fraction = 20

// Times returns the number of repetitions that a test makes which makes n of them in make test-all.
func Times(n int) int {
	if testing.Short() {
		return fewer(n)
	}
	return n * factor()
}

func fewer(n int) int { return max(1, n/fraction) }

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

// Some returns which of a number of cases a test runs, in their order. It is all of them, and a
// sample under -short. GSIMC_SEED repeats the sample of a seed that was logged.
func Some(tb testing.TB, cases int) []int {
	tb.Helper()
	return SomeOf(tb, cases, fewer(cases))
}

// SomeOf is Some for a test that says how many cases it runs under -short.
func SomeOf(tb testing.TB, cases, short int) []int {
	tb.Helper()
	all := make([]int, cases)
	for i := range all {
		all[i] = i
	}
	if !testing.Short() || short >= cases {
		return all
	}
	rng := source(tb, fmt.Sprintf("-short: %d of %d cases", short, cases))
	rng.Shuffle(cases, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return slices.Sorted(slices.Values(all[:short]))
}

// Chance returns what says of each further case whether the test runs it: of all of them, and of
// one in twenty under -short. It is for cases that are made one after the other.
func Chance(tb testing.TB) func() bool {
	tb.Helper()
	return OneIn(tb, 1)
}

// OneIn is Chance for a test that runs one case in n in make test-all, and all in make soak.
func OneIn(tb testing.TB, n int) func() bool {
	tb.Helper()
	switch {
	case testing.Short():
		n = fraction
	case Long():
		n = 1
	}
	if n == 1 {
		return func() bool { return true }
	}
	rng := source(tb, fmt.Sprintf("one case in %d", n))
	return func() bool { return rng.IntN(n) == 0 }
}

// source logs the seed of a sample and returns its source of chance.
func source(tb testing.TB, what string) *rand.Rand {
	tb.Helper()
	seed := processSeed
	if text := os.Getenv(seedFrom); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("%s=%q is not a whole number", seedFrom, text)
		}
	}
	tb.Logf("%s; %s=%d runs the same again", what, seedFrom, seed)
	name := fnv.New64a()
	_, _ = name.Write([]byte(tb.Name() + what))
	return rand.New(rand.NewPCG(seed, name.Sum64()))
}

// processSeed is that of all samples of a process, so that one number repeats each of them.
var processSeed = rand.Uint64()

// Brief reports whether time is dear: under -short, under the race detector and in an emulator.
func Brief() bool { return testing.Short() || slowed() != "" }

// Slow skips a test that takes long where time is dear. What it shows, others show in small.
func Slow(tb testing.TB) {
	tb.Helper()
	Native(tb)
	if testing.Short() {
		tb.Skip("-short: takes long")
	}
}

// Native skips a test where the race detector or an emulator would make minutes of it. It makes one
// call after the other, so that the race detector would have little to find.
func Native(tb testing.TB) {
	tb.Helper()
	if by := slowed(); by != "" {
		tb.Skip(by + ": takes minutes")
	}
}

// only has the names of the tests that called Only.
var only sync.Map

// Only says that under -short no other test executes a promise that this one executes. It is called
// before the processes of the test are started: see Processes.
func Only(tb testing.TB) { only.Store(root(tb), true) }

// Processes skips a test under -short because it starts processes, such as a database or the real
// program, unless the test has called Only.
func Processes(tb testing.TB, what string) {
	tb.Helper()
	if _, ok := only.Load(root(tb)); testing.Short() && !ok {
		tb.Skip("-short: starts " + what)
	}
}

// root is the name of a test without those of its parts.
func root(tb testing.TB) string {
	name, _, _ := strings.Cut(tb.Name(), "/")
	return name
}

// slowed returns what slows all code down, or nothing.
func slowed() string {
	switch {
	case raceEnabled:
		return "race detector"
	case os.Getenv(emulated) != "":
		return "emulator"
	}
	return ""
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
