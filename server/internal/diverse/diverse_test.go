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

// best are the scores of the best list with a share: as many items as can be, and of these the
// largest sum.
func best(pool []ranking.Scored, n int, s Share) (scores []float32) {
	var of, rest []float32
	for _, p := range pool {
		if s.Has(p.Item) {
			of = append(of, p.Score)
		} else {
			rest = append(rest, p.Score)
		}
	}
	sum := func(scores []float32) (sum float32) {
		for _, score := range scores {
			sum += score
		}
		return sum
	}
	for k := min(s.Least, len(of), n); k <= min(s.Most, len(of), n); k++ {
		list := slices.Concat(of[:k], rest[:min(n-k, len(rest))])
		if len(list) > len(scores) || len(list) == len(scores) && sum(list) > sum(scores) {
			scores = list
		}
	}
	slices.SortFunc(scores, func(a, b float32) int { return int(b - a) })
	return scores
}

// A list with a share is the best one; several shares that have no item in common all get theirs.
func TestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 5))
	for trial := range 5000 {
		pool := make([]ranking.Scored, rng.IntN(12))
		for at, item := range rng.Perm(30)[:len(pool)] {
			pool[at] = ranking.Scored{Item: int32(item), Score: float32(rng.IntN(9) - 3)}
		}
		slices.SortFunc(pool, ranking.Compare)
		n, thirds := rng.IntN(10), make([]Share, 3)
		for i := range thirds {
			least := rng.IntN(4)
			thirds[i] = Share{Has: func(item int32) bool { return item%3 == int32(i) }, Least: least,
				Most: least + rng.IntN(4)}
		}
		var scores []float32
		for _, p := range (Rule{Lambda: 1, Shares: thirds[:1]}).Select(nil, pool, n, nil, nil) {
			scores = append(scores, p.Score)
		}
		check.MustSame(t, best(pool, n, thirds[0]), scores, "trial %d: %d of %v with %+v", trial, n,
			pool, thirds[0])
		all := Rule{Lambda: 1, Shares: thirds}.Select(nil, pool, n, nil, nil)
		for _, s := range thirds {
			there, chosen := 0, 0
			for _, p := range pool {
				if s.Has(p.Item) {
					there++
				}
			}
			for _, p := range all {
				if s.Has(p.Item) {
					chosen++
				}
			}
			enough := chosen >= min(s.Least, there) || n < thirds[0].Least+thirds[1].Least+thirds[2].Least
			if chosen > s.Most || !enough {
				t.Fatalf("trial %d: %d of %d items are of a share from %d to %d", trial, chosen, there,
					s.Least, s.Most)
			}
		}
	}
}

// What a share needs and cannot have keeps no place free.
func TestNeedsThatCannotBeMet(t *testing.T) {
	pool := []ranking.Scored{{Item: 0, Score: 5}, {Item: 1, Score: 4}, {Item: 2, Score: 3},
		{Item: 3, Score: 2}, {Item: 4, Score: 1}}
	first := func(item int32) bool { return item < 3 }
	want := []ranking.Scored{pool[0], pool[3], pool[4]}
	one := Rule{Lambda: 1, MaxPerCategory: 1, Shares: []Share{{Has: first, Least: 3, Most: 3}}}
	check.Same(t, want, one.Select(nil, pool, 3, [][]uint32{{7}, {7}, {7}, nil, nil}, nil),
		"three of one category")
	both := Rule{Lambda: 1, Shares: []Share{{Has: first, Least: 3, Most: 3},
		{Has: func(item int32) bool { return item < 3 }, Most: 1}}}
	check.Same(t, want, both.Select(nil, pool, 3, nil, nil), "at least three and at most one")
}

// A list has the largest number of items of a share that fit beside each other within the bounds of
// categories and of another share, whatever the order of the choice, and is as long as it can be.
func TestSharesBesideCategories(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 6))
	for trial := range 5000 {
		pool, categories := make([]ranking.Scored, 12), make([][]uint32, 12)
		for at, item := range rng.Perm(40)[:len(pool)] {
			pool[at] = ranking.Scored{Item: int32(item), Score: float32(rng.IntN(9))}
		}
		slices.SortFunc(pool, ranking.Compare)
		for at := range categories {
			if c := uint32(rng.IntN(5)); c > 0 { // else it has none
				categories[at] = []uint32{c}
			}
		}
		n, most, least := 1+rng.IntN(8), 1+rng.IntN(3), rng.IntN(6)
		even := func(item int32) bool { return item%2 == 0 }
		r := Rule{MaxPerCategory: most, Lambda: []float64{1, .5}[rng.IntN(2)],
			Shares: []Share{{Has: even, Least: least, Most: 12}}}
		list := r.Select(nil, pool, n, categories, func(i, j int32) float32 {
			return float32((i*7+j*7)%10) / 10
		})
		fit := func(has func(int32) bool) (n int) { // how many can be on a list together
			of := map[uint32]int{}
			for at, scored := range pool {
				if !has(scored.Item) {
					continue
				}
				if categories[at] == nil {
					n++
				} else if c := categories[at][0]; of[c] < most {
					of[c]++
					n++
				}
			}
			return n
		}
		chosen := 0
		for _, scored := range list {
			if even(scored.Item) {
				chosen++
			}
		}
		length := min(n, fit(func(int32) bool { return true }))
		if chosen < min(least, fit(even), n) || len(list) != length {
			t.Fatalf("trial %d: %d items, %d of the share, want %d and at least %d: %v of %v, %v", trial,
				len(list), chosen, length, min(least, fit(even), n), list, pool, categories)
		}
	}
}
