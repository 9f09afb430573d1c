package spectral

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// The dense K against its definition, pair by pair.
func TestGramAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(60, 61))
	for _, n := range []int{1, 5, gramRows - 1, gramRows, gramRows + 1, 3*gramRows + 7} {
		for _, s := range []float64{1, 0.7, 0} {
			r := randomIncidence(rng, 2+2*n, n, 6)
			op := newGramOp(newHypergraph(s, r), nil)
			want := denseK(Graph{Kind: Hypergraph, DegreeExponent: s}, r)
			for i := range n {
				for j := range n {
					if got, want := float64(op.k[i*n+j]),
						want.At(i, j); math.Abs(got-want) > 1e-6*want {
						t.Fatalf("n=%d s=%v: K[%d, %d] = %v, want %v", n, s, i, j, got, want)
					}
				}
			}
		}
	}
}

// Chunks of users: all of them, in order, however few fit into one.
func TestGramChunks(t *testing.T) {
	r := randomIncidence(rand.New(rand.NewPCG(62, 63)), 2*maxChunkUsers+9, 30, 2)
	g := newHypergraph(1, r)
	users, items := 0, 0
	for first := 0; first < r.NumUsers(); {
		var c *userChunk
		c, first = newChunk(g, first)
		users, items = users+len(c.start), items+len(c.items)
		if first != users {
			t.Fatalf("the next chunk starts with user %d after %d users", first, users)
		}
	}
	check.Same(t, []int{r.NumUsers(), len(r.Item)}, []int{users, items},
		"users and interactions of all chunks")
}

// Sparse and dense products of the same K give the same basis, up to what float32 leaves.
func TestGramGivesTheSameBasis(t *testing.T) {
	soak.Native(t)
	r := randomIncidence(rand.New(rand.NewPCG(64, 65)), 3000, 700, 25)
	g := Graph{Kind: Hypergraph, DegreeExponent: 1}
	h := newHypergraph(1, r)
	k := newGramOp(h, nil)
	opt := Options{Graph: g, Rank: 40, Tolerance: DefaultTolerance, Seed: 3}
	for name, a := range map[string]affinity{
		"sparse": {single: h.single(), double: h.double()},
		"dense":  {single: k, double: eigen.Rounded{Operator: k}},
	} {
		b, err := solveKrylov(a, opt.Rank, opt)
		check.Must(t, err)
		if b, err = finish(b, h, r, opt); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkBasis(t, b, g, r, DefaultTolerance)
	}
}

// The hyperedges go where K is dense, after the pieces of the graph were found by them, and the
// events of the caller stay.
func TestDenseLosesHyperedges(t *testing.T) {
	var r Incidence // two pieces of 400 items
	r.NumItems, r.Ptr = 800, []int64{0}
	for u := range 4000 {
		for i := range 100 {
			r.Item = append(r.Item, int32(u%2*400+(7*u+3*i)%400))
		}
		r.Ptr = append(r.Ptr, int64(len(r.Item)))
	}
	opt := Options{
		Graph: Graph{Kind: Hypergraph, DegreeExponent: 1}, Rank: 50, Tolerance: DefaultTolerance,
	}
	h := newHypergraph(1, &r)
	if b := check.Get(solvePieces(h, opt))(t); math.Abs(b.Kappa[1]-1) > 1e-6 {
		t.Errorf("the second eigenvalue is %v, want 1 of two pieces", b.Kappa[1])
	}
	if h.r.Item != nil || h.Dim() != r.NumItems || len(r.Item) != 400_000 {
		t.Errorf("%d hyperedges of %d items are left, and %d events", h.r.NumUsers(), h.Dim(),
			len(r.Item))
	}
}

// The choice follows the work: pairs are few beside the products saved where histories are long and
// items few.
func TestDenseWhereItPays(t *testing.T) {
	r := &Incidence{NumItems: 1000, Ptr: []int64{0}}
	for u := range 2000 {
		for i := range 400 {
			r.Item = append(r.Item, int32((i+u)%1000))
		}
		r.Ptr = append(r.Ptr, int64(len(r.Item)))
	}
	opt := Options{
		Graph: Graph{Kind: Hypergraph, DegreeExponent: 1}, Rank: 200, Tolerance: DefaultTolerance,
	}
	if !newHypergraph(1, r).denseIsFaster(opt) {
		t.Error("800 interactions an item: sparse")
	}
	fine := opt
	fine.Tolerance = eigen.SingleTolerance / 2
	if newHypergraph(1, r).denseIsFaster(fine) {
		t.Error("a tolerance that float32 does not reach: dense")
	}
	short := &Incidence{NumItems: 1000, Ptr: []int64{0, 3}, Item: []int32{1, 2, 3}}
	if newHypergraph(1, short).denseIsFaster(opt) {
		t.Error("3 interactions: dense")
	}
}
