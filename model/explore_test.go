package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
)

// randomQuery returns a query with a local term for some items, and the variances of its
// coordinates.
func randomQuery(rng *rand.Rand, m *Model) (q *Query, p []float32) {
	q, p = m.NewQuery(), make([]float32, m.k)
	for j := range p {
		q.Spectrum[j], p[j] = float32(rng.NormFloat64()), rng.Float32()
	}
	for _, i := range rng.Perm(m.NumItems())[:m.NumItems()/5] {
		q.Boosts = append(q.Boosts, ranking.Boost{Item: int32(i), Score: rng.Float32()})
	}
	return q, p
}

func TestUpperConfidenceIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{1, 63, 64, 65, 511, 512, 700} {
		k := min(n, 13)
		m := newLearned(t, rng, n, k, func(s *Spec) { learnedBands(s, true) })
		q, p := randomQuery(rng, m)
		skip := ranking.NewSet(n)
		for i := range int32(n) {
			if rng.IntN(4) == 0 {
				skip.Add(i)
			}
		}
		for _, beta := range []float32{0, 0.5, 30} {
			bounds := make([]float32, n)
			for i := range bounds {
				bounds[i] = m.Score(int32(i), q) +
					beta*float32(math.Sqrt(scoreVariance(m, int32(i), p)))
			}
			want := topOracle(bounds, 10, skip)
			got := m.TopNUpperConfidence(nil, q, p, beta, 10, skip)
			check.MustSame(t, len(want), len(got), "n=%d: items", n)
			for i := range want {
				if math.Abs(float64(got[i].Score-want[i].Score)) >
					1e-5*math.Abs(float64(want[i].Score))+1e-6 {
					t.Errorf("n=%d, β=%v: place %d has %v, want %v", n, beta, i, got[i], want[i])
				}
				if math.Abs(float64(bounds[got[i].Item]-got[i].Score)) > 1e-4 ||
					skip.Has(got[i].Item) {
					t.Errorf("n=%d, β=%v: place %d has item %d with %v, whose bound is %v",
						n, beta, i, got[i].Item, got[i].Score, bounds[got[i].Item])
				}
			}
			if beta == 0 {
				check.Same(t, m.TopN(nil, q, 10, skip), got, "n=%d: β = 0 is not TopN", n)
			}
		}
	}
}

func TestScoreHasTheBitsOfTheScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	m := newLearned(t, rng, 600, 21, func(s *Spec) { learnedBands(s, true) })
	q, _ := randomQuery(rng, m)
	scores := make([]float32, 600)
	m.ScoresTo(scores, q)
	for i, want := range scores {
		check.MustSame(t, want, m.Score(int32(i), q), "score of item %d alone, as in the scan", i)
	}
}

func TestSample(t *testing.T) {
	const k, draws = 6, 20_000
	rng := rand.New(rand.NewPCG(15, 16))
	m := newLearned(t, rng, 20, k, func(s *Spec) { learnedBands(s, true) })
	q, p := randomQuery(rng, m)
	draw := func(scale float64, seed uint64) []float32 {
		dst := m.NewQuery()
		m.SampleTo(dst, q, p, scale, seed)
		return dst.Spectrum
	}
	check.Same(t, draw(1, 7), draw(1, 7), "draw of an equal seed")
	if slices.Equal(draw(1, 7), draw(1, 8)) {
		t.Error("different seeds give equal draws")
	}
	check.Same(t, q.Spectrum, draw(0, 7), "draw of scale 0, the query")
	const scale = 1.5
	for j := range k {
		var mean, square float64
		for seed := range uint64(draws) {
			d := float64(draw(scale, seed)[j]) - float64(q.Spectrum[j])
			mean += d / draws
			square += d * d / draws
		}
		want := scale * scale * float64(p[j])
		// Four standard errors of the mean and of the variance.
		if math.Abs(mean) > 4*math.Sqrt(want/draws) {
			t.Errorf("coordinate %d: draws are off by %v in the mean, want 0", j, mean)
		}
		if math.Abs(square/want-1) > 4*math.Sqrt(2.0/draws) {
			t.Errorf("coordinate %d: variance of the draws is %v, want %v", j, square, want)
		}
	}
}
