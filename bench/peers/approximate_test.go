package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/bench/internal/python"
	"github.com/gsimc/gsimc/internal/test/check"
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
	check.Fails(t, err, failure, "a search that fails")
}

// TestApproximate measures a small base with the indexes of the interpreter that
// GSIMC_BENCH_PYTHON names.
func TestApproximate(t *testing.T) {
	s := quickSession(t)
	s.noPeers, s.pythons = false, os.Getenv("GSIMC_BENCH_PYTHON")
	workers := check.Get(s.startPythons(1))(t)
	defer func() { // before the context of the test ends, which kills
		if err := closeAll(workers); err != nil {
			t.Error(err)
		}
	}()
	if len(workers) == 0 {
		t.Skip("no Python with NumPy")
	}
	b := check.Get(gaussianBase(2000, 16, 70))(t)
	b.trained = true
	here := indexesOf(workers[0], b, nil)
	if len(here) == 0 {
		t.Skip("no approximate index")
	}
	check.Must(t, s.searchGroups(b, workers[:1]))
	for _, g := range s.file.Groups {
		for _, e := range here {
			for _, recall := range e.index.recalls {
				name := fmt.Sprintf("%s, recall %.3f", e.title, recall)
				if one := g.Find(name); one == nil || one.Recall < recall {
					t.Errorf("%s: %s has the series %+v, want that recall", g.Title, name, one)
				}
			}
		}
	}
}

// TestIndexes: one of each index has to do, graphs want trained rows, and a missing package is no
// index.
func TestIndexes(t *testing.T) {
	w := &python.Worker{Versions: python.Versions{Faiss: "1 (OPTIMIZE DD AVX2)", ScaNN: "2"}}
	names := func(b *base, taken []engine) string {
		var list []string
		for _, e := range indexesOf(w, b, taken) {
			list = append(list, e.name)
		}
		return strings.Join(list, " ")
	}
	trained := &base{k: 4, trained: true}
	for _, c := range []struct {
		b     *base
		taken []engine
		want  string
	}{
		{trained, nil, "hnsw pq4 scann"},
		{&base{k: 4}, nil, "pq4 scann"},
		{&base{k: 5}, nil, "scann"},
		{trained, indexesOf(w, &base{k: 4}, nil), "hnsw"},
	} {
		check.Same(t, c.want, names(c.b, c.taken),
			"k = %d, trained %v, %d are taken: indexes", c.b.k, c.b.trained, len(c.taken))
	}
}

// TestReached: a check says how an index came to its recall, or how near to it.
func TestReached(t *testing.T) {
	b := &base{k: 1, queries: make([]float32, 70)}
	e := engine{title: "ScaNN", index: &index{effort: "candidates"}, top: 10, effort: 40, part: 4,
		recall: 0.95}
	want := "95.00 % of the top 10 of 70 queries by candidates = 40, 1/4 of the leaves"
	for wanted, text := range map[float64]string{0.9: want, 0.99: want + ": not reached"} {
		if got := e.reached(b, wanted); got.Text != text || got.Value != e.recall {
			t.Errorf("the check is %+v, want %q", got, text)
		}
	}
}
