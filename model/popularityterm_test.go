package model

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/internal/sealed"
)

// withPopularity returns a model of random data whose popularity counts with weight w, as given.
func withPopularity(tb testing.TB, w float64) *Model {
	tb.Helper()
	const n, k = 40, 12
	rng := rand.New(rand.NewPCG(53, 1))
	spec := testSpec()
	learnedBands(&spec, true)
	spec.Dynamics.Popularity = w
	return mustNewFrom(tb, spec, randomBasis(rng, n, k), fit.Histories{
		Train:      slices.Values(randomHistories(rng, n, 60)),
		Validation: randomHistories(rng, n, 40), KeepLocal: true,
	})
}

// TestPopularityTerm: popularity adds w h to every query and nothing to states, explanations add up,
// and the file keeps it.
func TestPopularityTerm(t *testing.T) {
	const w = 0.25
	plain, m := withPopularity(t, 0), withPopularity(t, w)
	h := fit.PopularityQuery(m.items())
	history := explainHistory(rand.New(rand.NewPCG(53, 2)), 40, 9)
	for _, events := range []History{nil, history} {
		check.Same(t, plain.StateOf(events), m.StateOf(events), "states of %d events", len(events))
		without, with := plain.NewQuery(), m.NewQuery()
		plain.QueryTo(without, plain.StateOf(events), EstimatorBGS)
		m.QueryTo(with, m.StateOf(events), EstimatorBGS)
		for j := range h {
			without.Spectrum[j] += h[j] * w
		}
		check.Same(t, without, with, "queries of %d events", len(events))

		scores := make([]float32, m.NumItems())
		m.ScoresTo(scores, with)
		checkExplained(t, m.Explain(m.NewState(), events, []int32{7}, EstimatorBGS), 0, scores[7])
	}
	path := filepath.Join(t.TempDir(), "m.gsimc")
	check.Must(t, m.WriteFile(path))
	read := mustOpen(t, path)
	check.Same(t, answers(m), answers(read), "answers (-written +read)")
	check.Same(t, m.Version(), read.Version(), "version")
	check.Same(t, m.Spec(), read.Spec(), "spec")
	if plain.Version() == m.Version() {
		t.Error("the version is the same without popularity")
	}
}

func TestPopularityTermIsRefused(t *testing.T) {
	m := withPopularity(t, 0.25)
	for _, c := range []struct {
		want   string
		change func(meta map[string]string, x *sealed.Tensor)
	}{
		{`no tensor "popularity"`, func(_ map[string]string, x *sealed.Tensor) { x.Name = "other" }},
		{`popularity`, func(_ map[string]string, x *sealed.Tensor) {
			binary.LittleEndian.PutUint32(x.Data, math.Float32bits(float32(math.NaN())))
		}},
		{"Popularity: -1", func(meta map[string]string, _ *sealed.Tensor) {
			meta["popularity_weight"] = "-1"
		}},
	} {
		_, err := decode(forged(m, func(meta map[string]string, ts tensors) {
			c.change(meta, ts["popularity"])
		}))
		check.Says(t, err, c.want, "decode")
	}
}
