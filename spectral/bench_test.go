package spectral

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// genreIncidence draws m users with about mean items each. A user likes four of the genres, each
// item belongs to one, and 60 of 100 draws are of the user's genres, the others of all items;
// popularity is a power law. The spectrum has an edge for each genre and a flat bulk of noise
// below.
func genreIncidence(m, n, genres int, mean float64) *Incidence {
	rng := rand.New(rand.NewPCG(1, 2))
	members := make([][]int32, genres+1) // the last one has all items
	for i := range int32(n) {
		g := rng.IntN(genres)
		members[g], members[genres] = append(members[g], i), append(members[genres], i)
	}
	weight := make([][]float64, len(members)) // cumulative
	for g, items := range members {
		sum := 0.0
		for _, i := range items {
			sum += math.Pow(float64(i+10), -0.8)
			weight[g] = append(weight[g], sum)
		}
	}
	draw := func(g int) int32 {
		e, _ := slices.BinarySearch(weight[g], rng.Float64()*weight[g][len(weight[g])-1])
		return members[g][e]
	}
	r, last := &Incidence{NumItems: n, Ptr: []int64{0}}, make([]int32, n)
	for u := range int32(m) {
		want := max(2, min(int(mean*math.Exp(0.8*rng.NormFloat64()-0.32)), n/10))
		likes := [4]int{rng.IntN(genres), rng.IntN(genres), rng.IntN(genres), rng.IntN(genres)}
		for tries, have := 0, 0; have < want && tries < 20*want; tries++ {
			g := genres
			if rng.Float64() < 0.6 {
				g = likes[rng.IntN(4)]
			}
			if i := draw(g); last[i] != u+1 {
				last[i] = u + 1
				r.Item = append(r.Item, i)
				have++
			}
		}
		r.Ptr = append(r.Ptr, int64(len(r.Item)))
	}
	return r
}

// BenchmarkSolve is of 200,000 users and 11.4 million interactions; go test -cpu 1 -bench
// Solve/n=17770 -benchtime 1x.
func BenchmarkSolve(b *testing.B) {
	for _, size := range []struct{ m, n, genres, k int }{{20000, 4000, 150, 128},
		{200000, 17770, 600, 500}} {
		b.Run(fmt.Sprintf("n=%d/k=%d", size.n, size.k), func(b *testing.B) {
			r := genreIncidence(size.m, size.n, size.genres, 57.5)
			var basis *Basis
			for b.Loop() {
				var err error
				basis, err = Solve(r, Options{
					Graph: Graph{Kind: Hypergraph, DegreeExponent: 1},
					Rank:  size.k, Tolerance: 1e-4, Seed: 1,
				})
				check.Must(b, err)
			}
			b.ReportMetric(basis.Report.Residual, "residual")
			b.ReportMetric(float64(basis.Report.Passes), "vectors")
		})
	}
}
