package local

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// The oracle sorts all entries. Counts of few values make many equally strong ones.
func TestStrongestAgainstSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for range 2000 {
		all := make([]pair, 2+rng.IntN(60))
		c := &counter{damp: make([]float64, 2*len(all))}
		for i := range c.damp {
			c.damp[i] = float64(1 + rng.IntN(2))
		}
		for at, j := range rng.Perm(len(c.damp))[:len(all)] {
			all[at] = pair{int32(j), float32(rng.IntN(3)), float32(rng.IntN(3))}
		}
		keep := 1 + rng.IntN(len(all)-1)
		got := c.strongest(slices.Clone(all), keep)
		strength := func(p pair) float64 {
			return (float64(p.after) + middleBackward*float64(p.before)) * c.damp[p.item]
		}
		slices.SortFunc(all, func(a, b pair) int {
			return cmp.Or(cmp.Compare(strength(b), strength(a)), byItem(a, b))
		})
		slices.SortFunc(got, byItem)
		want := slices.SortedFunc(slices.Values(all[:keep]), byItem)
		if !slices.Equal(got, want) {
			t.Fatalf("the %d strongest of %d are %v, want %v", keep, len(all), got, want)
		}
	}
}

// BenchmarkStrongest measures a row that has nearly all of 20,000 items.
func BenchmarkStrongest(b *testing.B) {
	rng := rand.New(rand.NewPCG(23, 24))
	all := make([]pair, 20000)
	c := &counter{damp: make([]float64, len(all))}
	for i, j := range rng.Perm(len(all)) {
		c.damp[i] = rng.Float64()
		all[i] = pair{int32(j), rng.Float32(), rng.Float32()}
	}
	for b.Loop() {
		c.strongest(all, 200)
	}
}
