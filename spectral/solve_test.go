package spectral

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// randomIncidence draws m users over n items with a skewed popularity; each
// user has at least one item.
func randomIncidence(rng *rand.Rand, m, n, mean int) *Incidence {
	r := &Incidence{NumItems: n, Ptr: []int64{0}}
	for range m {
		seen := map[int32]bool{}
		for range 1 + rng.IntN(2*mean) {
			i := int32(float64(n) * math.Pow(rng.Float64(), 2))
			if !seen[i] {
				seen[i] = true
				r.Item = append(r.Item, i)
			}
		}
		r.Ptr = append(r.Ptr, int64(len(r.Item)))
	}
	return r
}

// denseK is the slow oracle: K from its definition, pair by pair.
func denseK(g Graph, r *Incidence) *mat.SymDense {
	if g.Window > 0 {
		r = slowWindows(r, g.Window)
	}
	m, n := float64(r.NumUsers()), r.NumItems
	sum := mat.NewDense(n, n, nil) // Σ_u R_ui R_uj weight(u)
	degree := make([]float64, n)
	for u := range r.NumUsers() {
		items := r.Item[r.Ptr[u]:r.Ptr[u+1]]
		weight := 1.0
		if g.Kind == Hypergraph {
			weight = math.Pow(float64(len(items)), -g.DegreeExponent)
		}
		for _, i := range items {
			degree[i]++
			for _, j := range items {
				sum.Set(int(i), int(j), sum.At(int(i), int(j))+weight)
			}
		}
	}
	k, rowSum := mat.NewSymDense(n, nil), make([]float64, n)
	for i := range n {
		for j := range n {
			v := sum.At(i, j)
			switch {
			case g.Kind == Covariance && i == j:
				v = 0
			case g.Kind == Covariance:
				v = max(0, v/m-degree[i]/m*degree[j]/m)
			case v != 0:
				v *= math.Pow(degree[i]*degree[j], -g.DegreeExponent/2)
			}
			rowSum[i] += v
			k.SetSym(i, j, v)
		}
	}
	if g.Kind == Covariance {
		for i := range n {
			for j := i; j < n; j++ {
				if v := k.At(i, j); v != 0 {
					k.SetSym(i, j, v/math.Sqrt(rowSum[i]*rowSum[j]))
				}
			}
		}
	}
	return k
}

var testGraphs = []Graph{
	{Kind: Hypergraph, DegreeExponent: 1},
	{Kind: Hypergraph, DegreeExponent: 0.7},
	{Kind: Covariance, DegreeExponent: 1},
	{Kind: Hypergraph, DegreeExponent: 0.7, Window: 4},
	{Kind: Covariance, Window: 5},
}

// checkBasis verifies what Basis promises: K U = U diag(κ), UᵀU = I, κ
// descending and equal to the oracle's, λ = 1 − κ (divided for s ≠ 1).
func checkBasis(t *testing.T, b *Basis, g Graph, r *Incidence, tol float64) {
	t.Helper()
	k := denseK(g, r)
	var eig mat.EigenSym
	if !eig.Factorize(k, false) {
		t.Fatal("oracle failed")
	}
	want := eig.Values(nil)
	u := mat.NewDense(b.N, b.K, b.U)
	var ku, gram mat.Dense
	ku.Mul(k, u)
	gram.Mul(u.T(), u)
	for j := range b.K {
		if w := want[len(want)-1-j]; math.Abs(b.Kappa[j]-w) > tol*want[len(want)-1] {
			t.Errorf("κ_%d = %v, oracle %v", j, b.Kappa[j], w)
		}
		lambda := 1 - b.Kappa[j]
		if g.scaled() {
			lambda = 1 - b.Kappa[j]/b.Kappa[0]
		}
		check.Same(t, lambda, b.Lambda[j], "λ_%d", j)
		for i := range b.N {
			if d := math.Abs(ku.At(i, j) - b.Kappa[j]*u.At(i, j)); d > tol*b.Kappa[0] {
				t.Fatalf("(K u − κ u)[%d, %d] = %.2e", i, j, d)
			}
		}
		for i := range b.K {
			if d := math.Abs(gram.At(i, j) - dense.Identity(b.K).Data[i*b.K+j]); d > 1e-7 {
				t.Fatalf("(UᵀU − I)[%d, %d] = %.2e", i, j, d)
			}
		}
	}
}

func TestSolveSmallAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n, m := 1+rng.IntN(40), 1+rng.IntN(40)
		r := randomIncidence(rng, m, n, 1+rng.IntN(6))
		for _, g := range testGraphs {
			k := 1 + rng.IntN(n)
			b, err := Solve(r, Options{Graph: g, Rank: k})
			if err != nil && strings.Contains(err.Error(), "no edges") {
				continue
			}
			if err != nil {
				t.Fatalf("n=%d m=%d k=%d %v: %v", n, m, k, g, err)
			}
			checkBasis(t, b, g, r, 1e-9)
		}
	}
}

func TestSolveLanczosAgainstOracle(t *testing.T) {
	soak.Slow(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, g := range testGraphs {
		for _, k := range []int{1, 5, 20} {
			t.Run(fmt.Sprintf("%s/s=%v/w=%d/k=%d", g.Kind, g.DegreeExponent, g.Window, k),
				func(t *testing.T) {
					r := randomIncidence(rng, 300, 620, 8)
					b, err := Solve(r, Options{Graph: g, Rank: k, Seed: 7})
					check.Must(t, err)
					if b.Report.Solver != "lanczos" || b.Report.Residual > DefaultTolerance {
						t.Errorf("report %v", b.Report)
					}
					checkBasis(t, b, g, r, DefaultTolerance)
				})
		}
	}
}

// Few users: K has rank 3 while the solver is asked for 20 of 700 items. The
// Krylov space is exhausted at once, and the basis ends where K does.
func TestSolveRankDeficient(t *testing.T) {
	soak.Native(t)
	r := &Incidence{NumItems: 700, Ptr: []int64{0, 300, 600, 700}}
	for i := range 700 {
		r.Item = append(r.Item, int32(i))
	}
	b, err := Solve(r, Options{Graph: Graph{Kind: Hypergraph, DegreeExponent: 1}, Rank: 20})
	check.Must(t, err)
	check.Same(t, 3, b.K, "rank")
	for j, kappa := range b.Kappa {
		if math.Abs(kappa-1) > 1e-9 {
			t.Errorf("κ_%d = %v, want 1 (three components)", j, kappa)
		}
	}
}

func TestSolveEdgeCases(t *testing.T) {
	hyper := Graph{Kind: Hypergraph, DegreeExponent: 1}
	one := &Incidence{NumItems: 1, Ptr: []int64{0, 1, 2}, Item: []int32{0, 0}}
	user := &Incidence{NumItems: 4, Ptr: []int64{0, 3}, Item: []int32{0, 2, 3}}
	tests := []struct {
		name    string
		r       *Incidence
		opt     Options
		rank    int
		wantErr string
	}{
		{"one item", one, Options{Graph: hyper, Rank: 1}, 1, ""},
		{"one item has no covariance", one, Options{Graph: Graph{Kind: Covariance}, Rank: 1},
			0, "no edges"},
		{"one user, one isolated item", user, Options{Graph: hyper, Rank: 4}, 1, ""},
		{"one user has no covariance", user, Options{Graph: Graph{Kind: Covariance}, Rank: 1},
			0, "no edges"},
		{"rank above n", one, Options{Graph: hyper, Rank: 2},
			0, "Rank: 2 is above the number of items 1, want at most 1"},
		{"rank zero", one, Options{Graph: hyper}, 0, "Rank: 0"},
		{"no interactions", &Incidence{NumItems: 3, Ptr: []int64{0, 0}},
			Options{Graph: hyper, Rank: 1}, 0, "no interactions"},
		{"unknown graph", one, Options{Graph: Graph{Kind: "tree"}, Rank: 1},
			0, `Graph: "tree", want hypergraph or covariance`},
		{"exponent", one, Options{
			Graph: Graph{Kind: Hypergraph, DegreeExponent: math.NaN()}, Rank: 1,
		}, 0, "DegreeExponent: NaN, want a number from 0 to 2"},
		{"window", one, Options{
			Graph: Graph{Kind: Hypergraph, DegreeExponent: 1, Window: 1}, Rank: 1,
		}, 0, "Window: 1, want 2 to 10000"},
		{"long window", one, Options{Graph: Graph{Kind: Covariance, Window: MaxWindow + 1},
			Rank: 1}, 0, "Window: 10001"},
		{"negative window", one, Options{Graph: Graph{Kind: Covariance, Window: -2}, Rank: 1},
			0, "Window: -2"},
		{"solver", one, Options{Graph: hyper, Rank: 1, Solver: "magic"},
			0, "Solver: magic, want auto, exact or nystrom"},
		{"tolerance", one, Options{Graph: hyper, Rank: 1, Tolerance: -1}, 0, "Tolerance: -1"},
		{"item out of range", &Incidence{NumItems: 1, Ptr: []int64{0, 1}, Item: []int32{1}},
			Options{Graph: hyper, Rank: 1}, 0, "has item 1"},
		{"item twice", &Incidence{NumItems: 1, Ptr: []int64{0, 2}, Item: []int32{0, 0}},
			Options{Graph: hyper, Rank: 1}, 0, "twice"},
		{"pointers", &Incidence{NumItems: 1, Ptr: []int64{0, 2}, Item: []int32{0}},
			Options{Graph: hyper, Rank: 1}, 0, "do not span"},
		{"landmarks below rank", user, Options{
			Graph: hyper, Rank: 2, Solver: SolverNystrom, Nystrom: NystromOptions{Landmarks: 1},
		}, 0, "Landmarks: 1 does not fit rank 2 and 4 items, want 2 to 4"},
		{"nystrom form", user, Options{
			Graph: hyper, Rank: 2, Solver: SolverNystrom, Nystrom: NystromOptions{Form: "x"},
		}, 0, `NystromForm: "x", want paper or orthonormal`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Solve(tt.r, tt.opt)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("error %v, want one with %q", err, tt.wantErr)
				}
				return
			}
			check.Must(t, err)
			check.Same(t, tt.rank, b.K, "rank")
			checkBasis(t, b, tt.opt.Graph, tt.r, 1e-9)
		})
	}
}

func TestSolveRefusesWhatMissesTheTolerance(t *testing.T) {
	for _, items := range []int{60, 620} {
		if items > denseMax && soak.Brief() {
			continue // the iteration goes on to its last restart
		}
		b, err := Solve(randomIncidence(rand.New(rand.NewPCG(5, 6)), 300, items, 8), Options{
			Graph: Graph{Kind: Hypergraph, DegreeExponent: 1}, Rank: 5, Tolerance: 1e-300,
		})
		if !errors.Is(err, ErrNotConverged) || b == nil {
			t.Errorf("%d items: basis %v, error %v; want the basis and ErrNotConverged", items,
				b != nil, err)
		}
	}
}

func TestSolveIsDeterministic(t *testing.T) {
	r := randomIncidence(rand.New(rand.NewPCG(8, 9)), 400, 650, 8)
	for _, solver := range []string{SolverExact, SolverNystrom} {
		opt := Options{
			Graph: Graph{Kind: Hypergraph, DegreeExponent: 1},
			Rank:  12, Seed: 3, Solver: solver, Nystrom: NystromOptions{Landmarks: 300},
		}
		want := check.Get(Solve(r, opt))(t)
		procs := runtime.GOMAXPROCS(1)
		got, err := Solve(r, opt)
		runtime.GOMAXPROCS(procs)
		check.Must(t, err)
		check.Same(t, want, got, "%s: one processor gives another basis", solver)
	}
}

// With every item a landmark, Nyström's method sees the whole graph.
func TestNystromWithAllLandmarksIsExact(t *testing.T) {
	r := randomIncidence(rand.New(rand.NewPCG(10, 11)), 80, 60, 5)
	g := Graph{Kind: Hypergraph, DegreeExponent: 1}
	exact, err := Solve(r, Options{Graph: g, Rank: 8})
	check.Must(t, err)
	for _, form := range []string{NystromPaper, NystromOrthonormal} {
		b, err := Solve(r, Options{
			Graph: g, Rank: 8, Solver: SolverNystrom, Nystrom: NystromOptions{
				Form: form, Power: 60, Oversample: 30,
			},
		})
		check.Must(t, err)
		for j := range exact.Kappa {
			if math.Abs(b.Kappa[j]-exact.Kappa[j]) > 1e-9 {
				t.Errorf("%s: κ_%d = %v, exact %v", form, j, b.Kappa[j], exact.Kappa[j])
			}
		}
		if b.Report.Residual > 1e-6 {
			t.Errorf("%s: residual %v", form, b.Report.Residual)
		}
	}
}

// The fewer landmarks, the worse, but the orthonormal form stays orthonormal.
func TestNystromOrthonormal(t *testing.T) {
	r := randomIncidence(rand.New(rand.NewPCG(12, 13)), 400, 500, 8)
	b, err := Solve(r, Options{
		Graph: Graph{Kind: Hypergraph, DegreeExponent: 1}, Rank: 20,
		Solver: SolverNystrom, Nystrom: NystromOptions{Landmarks: 100},
	})
	check.Must(t, err)
	if b.Report.Orthogonality > 1e-9 || b.Kappa[0] > 1+1e-12 {
		t.Errorf("orthogonality error %v, κ_1 %v", b.Report.Orthogonality, b.Kappa[0])
	}
}

// Progress never runs backwards, and ends at most at its total.
func TestProgress(t *testing.T) {
	soak.Native(t)
	rng := rand.New(rand.NewPCG(14, 15))
	r := randomIncidence(rng, 900, 650, 8)
	g := Graph{Kind: Hypergraph, DegreeExponent: 1}
	last := -1
	progress := func(done, total int) {
		if done <= last || done > total {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	}
	b, err := Solve(r, Options{Graph: g, Rank: 30, Seed: 1, Progress: progress})
	check.Must(t, err)
	checkBasis(t, b, g, r, DefaultTolerance)
	if last <= 0 {
		t.Error("no progress")
	}
}
