package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/bench/internal/ceiling"
	"github.com/gsimc/gsimc/bench/internal/clicks"
	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/bench/internal/rounds"
	"github.com/gsimc/gsimc/internal/test/check"
)

func TestBadFlags(t *testing.T) {
	for _, c := range []struct {
		args    []string
		message string
	}{
		{nil, "no part to measure"},
		{[]string{"topm"}, `unknown part "topm"`},
		{[]string{"topn", "--quick"}, "flags go before"},
		{[]string{"--rounds", "0", "topn"}, "--rounds is 0"},
		{[]string{"--queries", "10", "topn"}, "--queries is 10"},
	} {
		check.Says(t, run(context.Background(), c.args), c.message, "%q", c.args)
	}
}

// quickSession is a session without Python that keeps its results in a temporary folder.
func quickSession(t *testing.T) *session {
	t.Helper()
	return &session{
		options: options{
			out:     t.TempDir(),
			rounds:  2,
			queries: 70,
			quick:   true,
			noPeers: true,
		}, ctx: t.Context(), tmp: t.TempDir(),
		file: &result.File{Part: "test"},
	}
}

// TestSearch measures a small base and sees that its answers are compared.
func TestSearch(t *testing.T) {
	s := quickSession(t)
	b := check.Get(gaussianBase(300, 8, 70))(t)
	check.Must(t, s.searchGroups(b, nil))
	check.MustSame(t, 3, len(s.file.Groups), "groups")
	for _, g := range s.file.Groups {
		for _, name := range []string{ownSearch, ownScan} {
			if one := g.Find(name); one == nil || len(one.Samples) != s.rounds {
				t.Errorf("%s: %s has the series %+v, want %d samples", g.Title, name, one, s.rounds)
			}
		}
	}
	for _, c := range s.file.Groups[0].Checks {
		if c.Bad || c.Value != 0 {
			t.Errorf("%s: %s", c.Name, c.Text)
		}
	}
}

// TestVerifyFinds: wrong answers are found. Here the rows of the oracle are not those of the model.
func TestVerifyFinds(t *testing.T) {
	s := quickSession(t)
	b := check.Get(gaussianBase(300, 8, 70))(t)
	defer b.free() //nolint:errcheck // the process ends
	for i := range b.rows[:8] {
		b.rows[i] = 100
	}
	for _, c := range s.verify(b)[:2] {
		if !c.Bad || c.Value == 0 {
			t.Errorf("%s: %s, though a row was changed", c.Name, c.Text)
		}
	}
	check.Same(t, int64(70), b.wrongOf(b.model, b.trended(), 0, 70),
		"answers that are wrong by the scores of another model")
}

// TestOracles: the scan in blocks and the model's own scores give the same.
func TestOracles(t *testing.T) {
	b := check.Get(gaussianBase(2000, 40, 3))(t)
	defer b.free() //nolint:errcheck // the process ends
	blocks := b.oracle(b.queries, 50)
	b.exact = false
	for i, want := range b.oracle(b.queries, 50) {
		if !sameBits(want, blocks[i]) {
			t.Errorf("query %d: the oracles differ", i)
		}
	}
	rows := slices.Clone(b.rows)
	b.readRows()
	check.Same(t, b.rows, rows, "the rows read out of the model")
}

// TestAppends lets every storage but redis write for a moment.
func TestAppends(t *testing.T) {
	s := quickSession(t)
	s.noPeers = false
	t.Setenv("PATH", "") // no redis
	backends, closeAll, err := s.backends()
	check.Must(t, err)
	for _, b := range backends {
		rate, err := s.writeRate(b, 10, 2, 3)
		if err != nil || rate <= 0 {
			t.Errorf("%s: %v events/s, %v", b.name, rate, err)
		}
	}
	if err := closeAll(); err != nil {
		t.Error(err)
	}
	check.Has(t, strings.Join(s.file.Notes, "; "), "redis is skipped", "notes")
}

func TestMeasureStoresResults(t *testing.T) {
	o := options{
		out:     filepath.Join(t.TempDir(), "results"),
		rounds:  1,
		queries: 600,
		quick:   true,
		noPeers: true,
		suffix:  "-x",
	}
	err := measure(t.Context(), o, "test", func(s *session) error {
		return s.compete(result.Group{Title: "g", Unit: "ms", Ours: "a"}, []rounds.Contestant{
			{Name: "a", Role: result.Own, Run: func() (float64, error) { return 1, nil }},
		})
	})
	check.Must(t, err)
	f := check.Get(result.Read(filepath.Join(o.out, "test-x.json")))(t)
	if f.Command != "go run ./peers --quick --no-peers --suffix -x --queries 600 --rounds 1 test" ||
		len(f.Groups) != 1 ||
		!f.Quick {
		t.Errorf("stored %+v", f)
	}
}

// TestEigen solves a small matrix and tells how good the answer is.
func TestEigen(t *testing.T) {
	s := quickSession(t)
	r := clicks.Draw(clicks.Config{Users: 400, Items: 150, Ones: 6000, Seed: 1})
	sparse := []eigenGroup{{rank: 5, rounds: 2, forms: []string{"sparse"}}}
	check.Must(t, s.eigenGroups("small", r, nil, sparse))
	g := s.file.Groups[0]
	if own := g.Find(ownSolver); own == nil || len(own.Samples) != 2 || own.Samples[0] <= 0 {
		t.Errorf("the series of the solver is %+v, want 2 samples", own)
	}
	if len(g.Checks) != 1 || g.Checks[0].Bad || g.Checks[0].Value > tolerance {
		t.Errorf("checks %+v, want one good residual", g.Checks)
	}
}

func TestProducts(t *testing.T) {
	s := quickSession(t)
	for _, bits := range []int{32, 64} {
		for _, c := range append(s.ownProducts(30, bits), s.peak(bits, 2)) {
			if c.Role == result.Limit && !ceiling.Available() {
				continue
			}
			if rate, err := c.Run(); err != nil || rate <= 0 {
				t.Errorf("%s, %d bits: %v GFLOP/s, %v", c.Name, bits, rate, err)
			}
		}
	}
}

// TestOnly: what --only does not name is left out.
func TestOnly(t *testing.T) {
	s := quickSession(t)
	s.only = "k = 7"
	r := clicks.Draw(clicks.Config{Users: 400, Items: 150, Ones: 6000, Seed: 1})
	two := []eigenGroup{{rank: 5, rounds: 1}, {rank: 7, rounds: 1}}
	check.Must(t, s.eigenGroups("small", r, nil, two))
	if len(s.file.Groups) != 1 || s.file.Groups[0].Params["k"] != 7 {
		t.Errorf("groups %+v, want that of rank 7 alone", s.file.Groups)
	}
}
