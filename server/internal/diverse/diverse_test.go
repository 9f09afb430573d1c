package diverse

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
)

func isNew(item int32) bool { return item%3 == 0 }

// oracle spells the rule out: every value anew, for every item, at every step.
func oracle(
	r Rule, pool []ranking.Scored, n int, categories [][]uint32, alike func(i, j int32) float32,
) (list []ranking.Scored) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range pool {
		low, high = min(low, float64(p.Score)), max(high, float64(p.Score))
	}
	var chosen []int
	for len(chosen) < n {
		best, most := -1, math.Inf(-1)
		for at, p := range pool {
			fits := !slices.Contains(chosen, at)
			for _, category := range categories[at] {
				same := 0
				for _, other := range chosen {
					if slices.Contains(categories[other], category) {
						same++
					}
				}
				fits = fits && (r.MaxPerCategory == 0 || same < r.MaxPerCategory)
			}
			fresh := 0
			for _, other := range chosen {
				if isNew(pool[other].Item) {
					fresh++
				}
			}
			if !fits || r.MaxNew > 0 && isNew(p.Item) && fresh == r.MaxNew {
				continue
			}
			value, nearest := 0.0, math.Inf(-1)
			if high > low {
				value = r.Lambda * (float64(p.Score) - low) / (high - low)
			}
			for _, other := range chosen {
				nearest = max(nearest, float64(alike(p.Item, pool[other].Item)))
			}
			if len(chosen) > 0 {
				value -= (1 - r.Lambda) * nearest
			}
			if value > most {
				best, most = at, value
			}
		}
		if best < 0 {
			break
		}
		chosen = append(chosen, best)
		list = append(list, pool[best])
	}
	return list
}

func TestSelectAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(67, 1))
	differs := 0
	for trial := range 500 {
		pool, categories := make([]ranking.Scored, rng.IntN(40)), [][]uint32{}
		var rows [100][3]float32
		for i := range rows {
			for l := range rows[i] {
				rows[i][l] = float32(rng.IntN(5)) - 2 // with ties
			}
		}
		for at, item := range rng.Perm(len(rows))[:len(pool)] {
			pool[at] = ranking.Scored{Item: int32(item), Score: float32(rng.IntN(9))}
			of := []uint32{}
			for range rng.IntN(3) {
				of = append(of, uint32(rng.IntN(6)))
			}
			slices.Sort(of)
			categories = append(categories, slices.Compact(of))
		}
		slices.SortStableFunc(pool, func(a, b ranking.Scored) int { return int(b.Score - a.Score) })
		alike := func(i, j int32) (dot float32) {
			for l := range rows[i] {
				dot += rows[i][l] * rows[j][l]
			}
			return dot / 12
		}
		r := Rule{MaxPerCategory: rng.IntN(4), Lambda: float64(rng.IntN(5)) / 4,
			MaxNew: rng.IntN(6), New: isNew}
		n := rng.IntN(30)
		want := oracle(r, pool, n, categories, alike)
		got := r.Select(nil, pool, n, categories, alike)
		check.MustSame(t, want, got, "trial %d, %+v", trial, r)
		if !slices.Equal(got, pool[:len(got)]) {
			differs++
		}
	}
	if differs < 100 {
		t.Errorf("the list differed from the pool in %d trials only", differs)
	}
}
