package train

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model/trend"
)

// The trends that foresee a target are those of the spans that ended before it, of known items.
func TestTrendsDoNotLookAhead(t *testing.T) {
	const items, users, length = 12, 40, 8
	rng := rand.New(rand.NewPCG(3, 4))
	h := &dataset.Histories{Ptr: []int64{0}}
	for u := range users {
		for j, i := range rng.Perm(items)[:length] {
			h.Item, h.Time = append(h.Item, int32(i)), append(h.Time, int64(100*u+37*j))
		}
		h.User, h.Ptr = append(h.User, int32(u)), append(h.Ptr, int64(len(h.Item)))
	}
	x := newPast(h, items)
	spec := trend.Spec{HalfLife: 20, Span: 60}
	shares := slices.Repeat([]int64{3}, x.items)
	choices, times := make([]trend.Choice, 30), make([]int64, 30)
	for u := range times {
		times[u] = x.begin + int64(u*7)
	}
	x.addTrends(choices, times, spec, shares)
	want := make([]float32, x.items)
	for u, at := range times {
		span := spec.SpanOf(at)
		var before trend.Counts
		for j, i := range h.Item {
			if s := spec.SpanOf(h.Time[j]); s < span && x.place[i] >= 0 {
				before.Add(s, x.place[i], 1)
			}
		}
		before.RatesAfter(span, spec.HalfLife, x.items).TrendsTo(want, shares)
		check.MustSame(t, want, choices[u].Trends, "the trends of target %d", u)
	}
}

// The gain of a catalogue of any size is a number from 0 on.
func TestGainsAreScaled(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := 1; n < 60; n++ {
		scores := make([]float32, n)
		if spread := spreadOf([]trend.Choice{{Scores: scores}}); spread != 0 {
			t.Errorf("%d equal scores have the spread %v", n, spread)
		}
		for i := range scores {
			scores[i] = rng.Float32()
		}
		if spread := spreadOf([]trend.Choice{{Scores: scores}}); spread < 0 || n > 4 && spread == 0 {
			t.Errorf("%d scores have the spread %v", n, spread)
		}
	}
	for _, test := range []struct{ then, now, want float64 }{
		{1, 2, 4}, {0, 2, 0}, {0, 0, 0}, {1, 0, 0}, {5e-324, 2, 0},
	} {
		check.Same(t, test.want, scaled(2, test.then, test.now), "from %v to %v", test.then,
			test.now)
	}
}
