package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/bench/internal/result"
)

// TestLeastEffort: recall that grows with the effort, up to a bound.
func TestLeastEffort(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, most int
		wanted      float64
		perEffort   float64
		bound       float64
		low, high   int // of the answer
		reached     bool
	}{
		{"the first is enough", 100, 10_000, 0.9, 0.01, 1, 100, 100, true},
		{"within an eighth of the last step", 10, 10_000, 0.9, 0.001, 1, 900, 979, true},
		{"the largest only", 10, 900, 0.9, 0.001, 1, 900, 900, true},
		{"too little", 10, 800, 0.9, 0.001, 1, 800, 800, false},
		{"bounded", 10, 800, 0.9, 0.01, 0.8, 800, 800, false},
		{"less effort than the first", 100, 60, 0.9, 0.01, 1, 100, 100, true},
	} {
		recall := func(effort int) (float64, error) {
			return min(c.bound, c.perEffort*float64(effort)), nil
		}
		effort, reached, err := leastEffort(c.first, c.most, c.wanted, recall)
		if got, _ := recall(effort); err != nil || got != reached {
			t.Errorf("%s: says %v at effort %d, which has %v; %v", c.name, reached, effort, got, err)
		}
		if effort < c.low || effort > c.high || (reached >= c.wanted) != c.reached {
			t.Errorf("%s: effort %d with recall %v, want %d to %d", c.name, effort, reached, c.low,
				c.high)
		}
	}
	failure := errors.New("broken")
	_, _, err := leastEffort(1, 9, 1, func(int) (float64, error) { return 0, failure })
	if !errors.Is(err, failure) {
		t.Errorf("error %v, want that of the search", err)
	}
}

// TestHNSW measures a small base with faiss, where there is one.
func TestHNSW(t *testing.T) {
	s := quickSession(t)
	s.noPeers, s.pythons = false, os.Getenv("GSIMC_BENCH_PYTHON")
	workers, err := s.startPythons(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { // before the context of the test ends, which kills
		if err := closeAll(workers); err != nil {
			t.Error(err)
		}
	}()
	if len(workers) == 0 || workers[0].Versions.Faiss == "" {
		t.Skip("no faiss")
	}
	b, err := gaussianBase(2000, 16, 70)
	if err != nil {
		t.Fatal(err)
	}
	b.trained = true
	if err := s.searchGroups(b, workers[:1]); err != nil {
		t.Fatal(err)
	}
	for _, g := range s.file.Groups {
		graphs := 0
		for _, one := range g.Series {
			if one.Role == result.Approximate && strings.Contains(one.Name, "HNSW") {
				graphs++
			}
		}
		if graphs != len(hnswRecalls) {
			t.Errorf("%s: %d contestants are HNSW, want one for each recall", g.Title, graphs)
		}
	}
}
