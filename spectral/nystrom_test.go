package spectral

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/spectral/internal/dense"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// The covariance graph has as many large negative eigenvalues as positive ones;
// the solver must not lose wanted pairs to them.
func TestNystromOnTheCovarianceGraph(t *testing.T) {
	r := randomIncidence(rand.New(rand.NewPCG(30, 31)), 300, 200, 8)
	g := Graph{Kind: Covariance}
	const k = 60
	exact, err := Solve(r, Options{Graph: g, Rank: k})
	check.Must(t, err)
	b, err := Solve(r, Options{
		Graph: g, Rank: k, Solver: SolverNystrom, Nystrom: NystromOptions{
			Landmarks: 200, Power: 20, Refine: 20,
		},
	})
	check.Must(t, err)
	check.MustSame(t, k, b.K, "rank")
	for j := range k {
		if b.Kappa[j] > exact.Kappa[j]+1e-9 {
			t.Errorf("κ_%d = %v, above the exact %v", j, b.Kappa[j], exact.Kappa[j])
		}
		if b.Kappa[j] < exact.Kappa[j]-0.05 {
			t.Errorf("κ_%d = %v, exact %v", j, b.Kappa[j], exact.Kappa[j])
		}
	}
}

// Two items that occur together exactly as often as chance has it share no
// edge, whatever 3/15 − 9/15·5/15 is in floating point.
func TestIndependentItemsShareNoEdge(t *testing.T) {
	r := &Incidence{NumItems: 2, Ptr: []int64{0}}
	for u := range 15 { // d = 9 and 5, in common 3, 15 users
		if u < 9 {
			r.Item = append(r.Item, 0)
		}
		if u >= 6 && u < 11 {
			r.Item = append(r.Item, 1)
		}
		r.Ptr = append(r.Ptr, int64(len(r.Item)))
	}
	_, err := Solve(r, Options{Graph: Graph{Kind: Covariance}, Rank: 1})
	check.Says(t, err, "no edges", "Solve")
}

// A product of many columns, done in strips, is the product of each.
func TestMultiplyWideBlocks(t *testing.T) {
	r := randomIncidence(rand.New(rand.NewPCG(32, 33)), 50, 40, 4)
	op := newHypergraphOp[float64](newHypergraph(1, r))
	eye, k := dense.Identity(40), dense.New[float64](40, 40)
	eigen.MultiplyTo(k, op, eye)
	want := denseK(Graph{Kind: Hypergraph, DegreeExponent: 1}, r)
	for i := range 40 {
		for j := range 40 {
			if math.Abs(k.Data[i*40+j]-want.At(i, j)) > 1e-14 {
				t.Fatalf("K[%d, %d] = %v, want %v", i, j, k.Data[i*40+j], want.At(i, j))
			}
		}
	}
	if cap(op.z) > 40*eigen.BlockSize {
		t.Errorf("scratch of %d numbers for %d columns at a time", cap(op.z), eigen.BlockSize)
	}
}

func TestDenseLimit(t *testing.T) {
	n := denseLimit + 1
	r := &Incidence{NumItems: n, Ptr: []int64{0, int64(n)}, Item: make([]int32, n)}
	for i := range n {
		r.Item[i] = int32(i)
	}
	_, err := Solve(r, Options{Graph: Graph{Kind: Hypergraph, DegreeExponent: 1}, Rank: n - 1})
	check.Says(t, err, "want at most 3428", "Solve")
}
