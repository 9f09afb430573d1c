package spectral

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// slowWindows is the definition, start by start: the multiples of w/2 whose window ends within the
// history, and the window that ends with it.
func slowWindows(r *Incidence, w int) *Incidence {
	out := &Incidence{NumItems: r.NumItems, Ptr: []int64{0}}
	add := func(items []int32) {
		out.Item = append(out.Item, items...)
		out.Ptr = append(out.Ptr, int64(len(out.Item)))
	}
	for u := range r.NumUsers() {
		items := r.Item[r.Ptr[u]:r.Ptr[u+1]]
		if len(items) <= w {
			add(items)
			continue
		}
		for start := range items {
			if start%(w/2) == 0 && start+w < len(items) || start+w == len(items) {
				add(items[start : start+w])
			}
		}
	}
	return out
}

func TestWindowsAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 41))
	for range 200 {
		r := randomIncidence(rng, 1+rng.IntN(20), 1+rng.IntN(60), 1+rng.IntN(30))
		w := 2 + rng.IntN(20)
		got := check.Get(r.windowed(w))(t)
		check.MustSame(t, slowWindows(r, w), got, "windows of %d events", w)
		if cap(got.Item) > len(got.Item) || cap(got.Ptr) > len(got.Ptr) {
			t.Fatalf("room for %d items in %d windows, want %d in %d", cap(got.Item),
				cap(got.Ptr)-1, len(got.Item), len(got.Ptr)-1)
		}
	}
}

// Windows make the graph; popularity stays a matter of users. Windows longer than any history
// change nothing.
func TestWindowsKeepTheDegrees(t *testing.T) {
	r := randomIncidence(rand.New(rand.NewPCG(42, 43)), 60, 40, 12)
	for _, solver := range []string{SolverExact, SolverNystrom} {
		solve := func(w int) *Basis {
			b, err := Solve(r, Options{Graph: Graph{Kind: Hypergraph, DegreeExponent: 1, Window: w},
				Rank: 6, Solver: solver,
				Nystrom: NystromOptions{Power: 40}})
			check.Must(t, err)
			return b
		}
		whole, short := solve(0), solve(4)
		check.Same(t, r.Degrees(), short.Degrees, "%s: degrees are not the users", solver)
		if math.Abs(whole.Kappa[1]-short.Kappa[1]) < 1e-3 {
			t.Errorf("%s: κ_2 = %v with and without windows", solver, short.Kappa[1])
		}
		checkBasis(t, short, Graph{Kind: Hypergraph, DegreeExponent: 1, Window: 4}, r, 1e-6)
		check.Same(t, whole, solve(MaxWindow),
			"%s: windows longer than the histories make another basis", solver)
	}
}
