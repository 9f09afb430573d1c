package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model/trend"
)

// withTrends returns m with random trends, and what they add to its scores times x.factors.
func withTrends(rng *rand.Rand, m *Model) (x *Model, added []float32) {
	g := make([]float32, m.NumItems())
	added = make([]float32, len(g))
	for i := range g {
		g[i] = float32(rng.NormFloat64())
		added[i] = float32(0.5 * float64(g[i]))
	}
	s := &trend.Snapshot{G: g}
	s.SetBy(&trend.Spec{Gain: 0.5, Power: 0.25})
	for i := m.n; i < m.NumItems(); i++ {
		s.Names = append(s.Names, m.ItemID(int32(i)))
	}
	return m.WithTrends(s), added
}

// TestTrends: every way to a score has what trends and rules add, new items included, and a model
// without them is left as it is.
func TestTrends(t *testing.T) {
	for name, spec := range kinds() {
		for _, ruled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/rules=%t", name, ruled), func(t *testing.T) {
				testTrends(t, spec, ruled)
			})
		}
	}
}

func testTrends(t *testing.T, spec Spec, ruled bool) {
	rng := rand.New(rand.NewPCG(15, 16))
	_, m := extended(t, spec, 5)
	x, _ := withTrends(rng, m)
	x, added := withTrends(rng, x) // instead of the first ones
	if ruled {
		rules := make([]float32, len(added))
		x = x.WithRules(rules)
		for i := range rules {
			rules[i] = float32(rng.NormFloat64())
			added[i] += rules[i]
		}
		x = x.WithRules(rules) // instead of the first ones
	}
	q, _ := randomQuery(rng, m)
	plain, scores := make([]float32, m.NumItems()), make([]float32, m.NumItems())
	for i := range plain {
		u, g := m.decoder(int32(i))
		plain[i] = vec.Dot(u, q.Spectrum)*(g*x.factors[i]) + 0 + added[i]
	}
	ranking.AddBoosts(plain, q.Boosts)
	x.ScoresTo(scores, q)
	for i, want := range plain {
		if alone := x.Score(int32(i), q); scores[i] != want || alone != want {
			t.Fatalf("item %d has %v, and %v alone, want %v", i, scores[i], alone, want)
		}
	}
	skip := ranking.SetOf(len(scores), 3)
	want := topOracle(scores, 12, skip)
	for i, got := range x.TopN(nil, q, 12, skip) {
		check.MustSame(t, want[i], got, "place %d", i)
	}
	check.Must(t, x.Close())
	check.Same(t, 12, len(m.TopN(nil, q, 12, skip)), "items of the model without trends")
}

// With trends, the score of each item is its factor times as large as without them, the local term
// included, and higher by the addition.
func TestFactors(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	m := extendedLocal(t, 120, 5, 40)
	x, added := withTrends(rng, m)
	for range 20 {
		s := m.StateOf(explainHistory(rng, m.NumItems(), 6))
		q, lifted := m.NewQuery(), x.NewQuery()
		m.QueryTo(q, s, EstimatorBGS)
		x.QueryTo(lifted, s, EstimatorBGS)
		for i := range int32(m.NumItems()) {
			was, got := float64(m.Score(i, q)), float64(x.Score(i, lifted))
			want := was*float64(x.factors[i]) + float64(added[i])
			if d := math.Abs(got - want); d > 1e-5*(1+math.Abs(want)) {
				t.Fatalf("item %d has %v, want %v times %v and %v: %v", i, got, x.factors[i], was,
					added[i], want)
			}
		}
	}
}

// Rules are told apart from trends, and nothing else of a model changes by them.
func TestRules(t *testing.T) {
	_, m := extended(t, DefaultSpec(), 5)
	x, _ := withTrends(rand.New(rand.NewPCG(17, 18)), m)
	rules := make([]float32, m.NumItems())
	rules[2], rules[m.n] = 7, -3
	y := x.WithRules(rules)
	for i := range int32(len(rules)) {
		if y.trendOf(i) != x.trendOf(i) || y.additionOf(i) != x.trendOf(i)+rules[i] {
			t.Errorf("item %d: its trend adds %v, and with the rules %v, want %v and %v", i,
				y.trendOf(i), y.additionOf(i), x.trendOf(i), x.trendOf(i)+rules[i])
		}
	}
	if m.WithRules(rules).WithoutTrends() != m {
		t.Error("the plain model of one with rules alone is another one")
	}
	if y.Base() != m.Base() || y.WithoutTrends() != m || y.Version() != x.Version() {
		t.Error("a model of rules has another base, another plain model or another version")
	}
}

// What users take more often now than in the training data is rising, if enough of them have.
func TestRising(t *testing.T) {
	m, x := extended(t, DefaultSpec(), 1)
	n := m.NumItems()
	s := &trend.Snapshot{Expected: 0.5, G: make([]float32, n), Now: make([]int64, n)}
	for i := range n {
		s.Now[i] = m.Degree(int32(i)) << 10 // as often as ever
	}
	events := func(i int32, factor float64) float64 {
		return (float64(m.Degree(i))*s.Expected+trend.Prior)*factor - trend.Prior
	}
	var want []int32
	for i, factor := range []float64{1.5, 3, 0.5, 1.25, 4} {
		i := int32(i)
		s.Now[i] = int64(float64(m.Degree(i)<<10) * factor)
		if factor > 1 && events(i, factor) >= 5 {
			want = append(want, i)
		}
	}
	ranking.Sort(want, func(i int32) float64 { return float64(s.Now[i]) / float64(m.Degree(i)) })
	if x := m.WithTrends(s); !slices.Equal(x.Rising(), want) || len(want) < 2 {
		t.Errorf("%v are rising, want %v", x.Rising(), want)
	}
	added := int32(n)
	s.G, s.Names = append(s.G, 0), []string{x.ItemID(added)}
	s.Now = append(s.Now, 3*x.Degree(added)<<10)
	for _, part := range []float32{1, 0.01} { // of a few events what it has is soon three times
		s.Exposed = []float32{part}
		check.Same(t, part == 1, slices.Contains(x.WithTrends(s).Rising(), added),
			"after %v of the events, a new item is rising", part)
	}
	// By now it has a tenth of the share, and so it has a tenth of what it was taken to have.
	s.Exposed, s.Shares = []float32{1}, []int64{10 * x.Degree(added)}
	for factor, rises := range map[int64]bool{3: true, 1: false} {
		s.Now[added] = factor * s.Shares[0] << 10
		y := x.WithTrends(s)
		got := slices.Contains(y.Rising(), added)
		if got != rises || y.Rise(added) != float64(factor) {
			t.Errorf("rising: %t by %v, want %t by %d", got, y.Rise(added), rises, factor)
		}
	}
	s.Shares = nil
	s.G, s.Now, s.Names = s.G[:n], s.Now[:n], nil
	if m.Rising() != nil || m.Rise(1) != 1 || m.WithTrends(s).WithoutTrends() != m {
		t.Error("a model without trends has rising items")
	}
	s.Expected = 0 // as if nothing had been taken yet
	if x := m.WithTrends(s); slices.Contains(x.Rising(), 1) {
		t.Error("an item is rising without evidence")
	}
}
