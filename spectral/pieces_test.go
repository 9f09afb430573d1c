package spectral

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// brokenIncidence has one large piece, pieces of 3 to 7 items each, shuffled among each other, and
// some items without users.
func brokenIncidence(rng *rand.Rand, large, small int) *Incidence {
	r := &Incidence{NumItems: large + 5*small + 4, Ptr: []int64{0}}
	index := rng.Perm(r.NumItems)
	add := func(items ...int) {
		for _, i := range items {
			r.Item = append(r.Item, int32(index[i]))
		}
		r.Ptr = append(r.Ptr, int64(len(r.Item)))
	}
	core := randomIncidence(rng, large/2, large, 8)
	for i := 1; i < large; i++ { // a chain holds it together
		add(i-1, i)
	}
	for u := range core.NumUsers() {
		items := core.Item[core.Ptr[u]:core.Ptr[u+1]]
		wide := make([]int, len(items))
		for e, i := range items {
			wide[e] = int(i)
		}
		add(wide...)
	}
	first := large
	for c := range small {
		for range 1 + c%3 { // pieces alike in size differ in their users
			add(first, first+1, first+2)
		}
		for i := 3; i < 3+c%5; i++ {
			add(first+i-1, first+i)
		}
		first += 5 + (c%5 - 2)
	}
	return r
}

func TestPiecesAgainstOracle(t *testing.T) {
	soak.Slow(t)
	const small = 45 // with the large one more than a block of the Lanczos solver
	r := brokenIncidence(rand.New(rand.NewPCG(50, 51)), 480, small)
	for _, g := range []Graph{
		{Kind: Hypergraph, DegreeExponent: 1}, {Kind: Covariance},
		{Kind: Hypergraph, DegreeExponent: 1, Window: 2},
	} {
		for _, k := range []int{20, small + 1, 60} {
			t.Run(fmt.Sprintf("%s/w=%d/k=%d", g.Kind, g.Window, k), func(t *testing.T) {
				b, err := Solve(r, Options{Graph: g, Rank: k, Seed: 5})
				check.Must(t, err)
				if b.N <= denseMax || b.Report.Solver == "dense" {
					t.Fatalf("%d items: solved by %s", b.N, b.Report.Solver)
				}
				check.Same(t, k, b.K, "rank")
				checkBasis(t, b, g, r, DefaultTolerance)
				ones := 0
				for j, kappa := range b.Kappa {
					if kappa > 1-1e-9 {
						ones++
					}
					if j > 0 && kappa > b.Kappa[j-1] {
						t.Errorf("κ_%d = %v is above the one before, %v", j, kappa, b.Kappa[j-1])
					}
				}
				if want := min(k, small+1); ones != want {
					t.Errorf("the eigenvalue 1 comes %d times, want %d", ones, want)
				}
			})
		}
	}
}

// The components by flood fill over the definition of K.
func TestFindPiecesAgainstOracle(t *testing.T) {
	soak.Native(t)
	rng := rand.New(rand.NewPCG(52, 53))
	for range 100 {
		r := randomIncidence(rng, 1+rng.IntN(25), 10+rng.IntN(60), 2)
		for _, g := range []Graph{{Kind: Hypergraph, DegreeExponent: 1}, {Kind: Covariance}} {
			k, err := newGraph(g, r)
			if err != nil {
				continue // no two items of the covariance graph share an edge
			}
			p := findPieces(k)
			want := floodFill(denseK(g, r).At, r.NumItems)
			size := make([]int, p.count)
			for i, c := range p.of {
				if (c < 0) != (want[i] < 0) {
					t.Fatalf("item %d is in piece %d, oracle %d", i, c, want[i])
				}
				if c < 0 {
					continue
				}
				size[c]++
				for j := range i {
					if (p.of[j] == c) != (want[j] == want[i]) {
						t.Fatalf("items %d and %d are in pieces %d and %d, oracle %d and %d",
							i, j, c, p.of[j], want[i], want[j])
					}
				}
			}
			for c := 1; c < p.count; c++ {
				if size[c] > size[c-1] {
					t.Fatalf("piece %d has %d items, the one before %d", c, size[c], size[c-1])
				}
			}
		}
	}
}

// floodFill returns the component of each vertex, -1 for one without neighbours and loop.
func floodFill(at func(i, j int) float64, n int) []int {
	of := make([]int, n)
	for i := range of {
		of[i] = -1
	}
	var visit func(i, c int)
	visit = func(i, c int) {
		of[i] = c
		for j := range n {
			if of[j] < 0 && math.Abs(at(i, j)) > 1e-12 {
				visit(j, c)
			}
		}
	}
	for i := range n {
		linked := false
		for j := range n {
			linked = linked || math.Abs(at(i, j)) > 1e-12
		}
		if linked && of[i] < 0 {
			visit(i, i)
		}
	}
	return of
}

// Nothing but pieces: K has no other eigenvalue, and the basis ends with them.
func TestPiecesAreAllThereIs(t *testing.T) {
	soak.Native(t)
	r := &Incidence{NumItems: 700, Ptr: []int64{0}}
	for i := range 700 {
		r.Item = append(r.Item, int32(i))
		if i%20 == 19 {
			r.Ptr = append(r.Ptr, int64(i+1))
		}
	}
	b, err := Solve(r, Options{Graph: Graph{Kind: Hypergraph, DegreeExponent: 1}, Rank: 50})
	check.Must(t, err)
	check.Same(t, []int{35, 35}, []int{b.K, len(b.Kappa)}, "rank")
	checkBasis(t, b, Graph{Kind: Hypergraph, DegreeExponent: 1}, r, 1e-9)
}
