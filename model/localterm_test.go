package model

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
)

// newLocal returns a model whose users take item i+1 after item i, and that has a local term.
func newLocal(tb testing.TB, n, k int) *Model {
	tb.Helper()
	rng := rand.New(rand.NewPCG(21, 22))
	spec := testSpec()
	learnedBands(&spec, true)
	spec.Local = local.Default()
	users := func(count int) (all []History) {
		for range count {
			start := rng.IntN(n)
			var h History
			for j := range 8 {
				h = append(h, Event{Item: int32((start + j) % n), Weight: 1, Time: int64(j)})
			}
			all = append(all, h)
		}
		return all
	}
	train, validation := users(300), users(60)
	m := mustNewFrom(tb, spec, randomBasis(rng, n, k), fit.Histories{
		Train: slices.Values(train), Validation: validation,
	})
	if m.local == nil || m.Spec().Local.None() {
		tb.Fatalf("no local term was chosen for chains: %+v", m.Spec().Local)
	}
	return m
}

func TestLocalTermInTheFile(t *testing.T) {
	m := newLocal(t, 60, 4)
	path := filepath.Join(t.TempDir(), "m.gsimc")
	check.Must(t, m.WriteFile(path))
	read := mustOpen(t, path)
	if d := cmp.Diff(m.local, read.local, cmp.AllowUnexported(local.Graph{}),
		cmpopts.IgnoreFields(local.Graph{}, "columns")); d != "" {
		t.Errorf("local graph (-written +read):\n%s", d)
	}
	check.Same(t, answers(m), answers(read), "answers (-written +read)")
	check.Same(t, m.Version(), read.Version(), "version")
}

// TestFilesOfAllFormats opens a file of each format. The format before the newest has no local term.
func TestFilesOfAllFormats(t *testing.T) {
	for _, c := range []struct {
		file, version string
		local         bool
		want          []ranking.Scored
	}{
		{"format-3.gsimc", "17573fe467e64956", false, []ranking.Scored{
			{Item: 4, Score: 0.09730762}, {Item: 5, Score: 0.077795565}, {Item: 1, Score: 0.011788978},
		}},
		{"format-4.gsimc", "dfef287328614e62", true, []ranking.Scored{
			{Item: 5, Score: 0.101851806}, {Item: 6, Score: 0.0889474}, {Item: 2, Score: 0.07133445},
		}},
	} {
		m := mustOpen(t, filepath.Join("testdata", c.file))
		if m.Version() != c.version || m.Spec().Local.None() == c.local {
			t.Errorf("%s: version %s with the local term %+v", c.file, m.Version(), m.Spec().Local)
		}
		s, q := m.NewState(), m.NewQuery()
		for i := range int32(5) {
			m.Fold(s, Event{Item: i, Weight: 1, Time: int64(i)})
		}
		m.QueryTo(q, s, EstimatorBGS)
		check.SameBy(t, cmpopts.EquateApprox(0, 1e-8), c.want, m.TopN(nil, q, 3, nil),
			"%s: best items", c.file)
	}
}

// TestRecentEvents: a state keeps the newest events only, and a copy keeps its own.
func TestRecentEvents(t *testing.T) {
	m := newLocal(t, 60, 4)
	s := m.NewState()
	most := m.Spec().Local.Events
	var want []kalman.Recent
	for i := range int32(most + 5) {
		m.Fold(s, Event{Item: i, Weight: float32(i), Time: int64(i)})
		want = append(want, kalman.Recent{Item: i, Weight: float32(i)})
	}
	want = want[len(want)-most:]
	before := s.Clone()
	m.Fold(s, Event{Item: 1, Weight: 1})
	check.Same(t, want, before.Recent, "recent events")
	m.Fold(before, Event{Item: 1, Weight: 1})
	check.Same(t, s, before, "a copy goes another way")
}
