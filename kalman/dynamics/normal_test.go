package dynamics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

var testBands = []kalman.Band{{Rho: 0}, {Rho: 0.5}, {Rho: 0.87, HalfLife: 40}}

// randomHistories have repeated items, weights of both signs, and times that now and then go back.
// Some have one event or none.
func randomHistories(rng *rand.Rand, users, n, longest int) []kalman.History {
	histories := make([]kalman.History, users)
	for u := range histories {
		now := rng.Int64N(1000)
		for range rng.IntN(longest + 1) {
			now += rng.Int64N(60) - 10
			e := kalman.Event{
				Item: int32(float64(n) * rng.Float64() * rng.Float64()), Weight: 1, Time: now,
			}
			if rng.IntN(3) == 0 {
				e.Weight = float32(rng.NormFloat64())
			}
			histories[u] = append(histories[u], e)
		}
	}
	return histories
}

func randomRows(rng *rand.Rand, n, k int) []float32 {
	e := make([]float32, n*k)
	for i := range e {
		e[i] = float32(rng.NormFloat64())
	}
	return e
}

// oracle folds every state literally and adds up outer products of (x_1 … x_r, 1) with itself and
// with the target's row.
func oracle(histories []kalman.History, opt Options, e []float32, k int) *Normal {
	r := len(opt.Bands)
	out := newNormal(r, k, 0)
	rows := out.rows()
	for _, h := range histories {
		x := make([]float64, rows)
		x[rows-1] = 1
		var newest int64
		for t, event := range h {
			if t > 0 && (opt.Positions == 0 || t >= len(h)-opt.Positions) {
				y := e[int(event.Item)*k : (int(event.Item)+1)*k]
				for i := range rows {
					for j := range rows {
						out.G[i*rows+j] += x[i] * x[j]
					}
					for j := range k {
						out.T[i*k+j] += x[i] * float64(y[j])
					}
				}
				out.N++
			}
			if t == 0 {
				newest = event.Time
			}
			for b, band := range opt.Bands {
				a := band.Decay(event.Time - newest)
				for j := range k {
					x[b*k+j] = a*x[b*k+j] + float64(event.Weight)*float64(e[int(event.Item)*k+j])
				}
			}
			newest = max(newest, event.Time)
		}
	}
	return out
}

func newMoments(t testing.TB, n int, histories []kalman.History, opt Options) *Moments {
	t.Helper()
	m := check.Get(NewMoments(n, slices.Values(histories), opt))(t)
	return m
}

// checkNormal compares G and T with rounding error in proportion to what was added up.
func checkNormal(t *testing.T, got, want *Normal) {
	t.Helper()
	checkNormalTo(t, got, want, 1e-6)
}

func checkNormalTo(t *testing.T, got, want *Normal, precision float64) {
	t.Helper()
	if got.N != want.N || got.R != want.R || got.K != want.K {
		t.Fatalf("N, R, K = %d, %d, %d, want %d, %d, %d", got.N,
			got.R, got.K, want.N, want.R, want.K)
	}
	largest := 0.0
	for _, g := range want.G {
		largest = max(largest, math.Abs(g))
	}
	for name, pair := range map[string][2][]float64{"G": {got.G, want.G}, "T": {got.T, want.T}} {
		for i, w := range pair[1] {
			if !(math.Abs(pair[0][i]-w) <= precision*largest) {
				t.Fatalf("%s[%d] = %v, want %v; the largest is %v", name, i, pair[0][i], w, largest)
			}
		}
	}
}

// The ranks lie around one and two strips of the fold, and beyond the columns that are held at a
// time.
func TestProjectAgainstFold(t *testing.T) {
	tests := []struct {
		users, n, longest, k int
		opt                  Options
	}{
		{40, 30, 12, 1, Options{Bands: testBands}},
		{40, 30, 12, 5, Options{Bands: testBands[2:]}},
		{40, 30, 12, 5, Options{Bands: testBands, Positions: 1}},
		{40, 30, 12, foldWidth, Options{Bands: testBands, Positions: 3}},
		{40, 30, 12, foldWidth + 1, Options{Bands: []kalman.Band{{Rho: 1}, {Rho: 0.3}}}},
		// long enough for the adjoint to end early
		{6, 20, 400, 7, Options{Bands: testBands, Positions: 2}},
		{10, 2*projectItems + 3, 8, 3, Options{Bands: testBands}},
		{8, 12, 5, projectWidth + 9, Options{Bands: testBands[1:]}},
	}
	for i, test := range tests {
		t.Run(fmt.Sprintf("n=%d/k=%d/r=%d/positions=%d", test.n,
			test.k, len(test.opt.Bands), test.opt.Positions), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			histories := randomHistories(rng, test.users, test.n, test.longest)
			e := randomRows(rng, test.n, test.k)
			got := newMoments(t, test.n, histories, test.opt).Project(e, test.k, nil)
			checkNormal(t, got, oracle(histories, test.opt, e, test.k))
			rows := got.rows()
			for i := range rows {
				for j := range i {
					if got.G[i*rows+j] != got.G[j*rows+i] {
						t.Fatalf("G is not symmetric at %d, %d", i, j)
					}
				}
			}
		})
	}
}

// The sums by shift are those of the fold, with and without states before the first that counts,
// over several blocks, and around one and two strips.
func TestShiftAgainstFold(t *testing.T) {
	bands := []kalman.Band{{Rho: 0}, {Rho: 0.5}, {Rho: 0.87}}
	for i, test := range []struct {
		users, n, longest, k int
		opt                  Options
	}{
		{40, 30, 12, 1, Options{Bands: bands}},
		{40, 30, 12, 5, Options{Bands: bands[2:], Positions: 1}},
		{40, 30, 300, foldWidth, Options{Bands: bands, Positions: 3}},
		{40, 30, 12, foldWidth + 1, Options{Bands: []kalman.Band{{Rho: largestShiftRho}, {Rho: 0}}}},
		{2*shiftUsers + 5, 20, 4, 2, Options{Bands: bands, Positions: 2}},
		{8, 2*projectItems + 3, 50, 3, Options{Bands: bands}},
		{8, 12, 5, projectWidth + 9, Options{Bands: bands}},
	} {
		t.Run(fmt.Sprintf("n=%d/k=%d/positions=%d", test.n, test.k, test.opt.Positions), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(8, uint64(i)))
			histories := randomHistories(rng, test.users, test.n, test.longest)
			for _, h := range histories {
				for p := range h {
					h[p].Weight = 1
				}
			}
			e := randomRows(rng, test.n, test.k)
			m := newMoments(t, test.n, histories, test.opt)
			if !m.canShift() {
				t.Fatal("the sums cannot be shifted")
			}
			p := newProjection(m, e, test.k)
			newShift(p).run(nil)
			// The shift divides rounding errors by 1−ρ².
			rho := float64(slices.Max(m.rho))
			checkNormalTo(t, p.complete(), oracle(histories, test.opt, e, test.k), 1e-6/(1-rho*rho))
		})
	}
}

// The sums are not shifted if an event has a weight other than 1, if a band has a half-life, or if
// the ρ of a band is above largestShiftRho.
func TestWhatCannotBeShifted(t *testing.T) {
	plain := []kalman.History{{{Item: 0, Weight: 1}, {Item: 1, Weight: 1}}}
	heavy := []kalman.History{{{Item: 0, Weight: 1}, {Item: 1, Weight: 2}}}
	for name, m := range map[string]*Moments{
		"weights":       newMoments(t, 2, heavy, Options{Bands: testBands[:2]}),
		"a half-life":   newMoments(t, 2, plain, Options{Bands: testBands}),
		"a band of .99": newMoments(t, 2, plain, Options{Bands: []kalman.Band{{Rho: 0.99}}}),
	} {
		if m.canShift() {
			t.Errorf("%s can be shifted", name)
		}
	}
}

func TestProjectDoesNotDependOnProcessors(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	const n, k = 300, 80
	histories, e := randomHistories(rng, 200, n, 20), randomRows(rng, n, k)
	run := func(processors int) *Readout {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		out, err := newMoments(t, n, histories, Options{Bands: testBands}).Project(e,
			k, nil).Solve(0.5)
		check.Must(t, err)
		return out
	}
	want := run(1)
	for _, processors := range []int{2, 5} {
		check.Same(t, want, run(processors), "%d processors (-one +more)", processors)
	}
}

func TestProjectProgress(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const n, k = 10, projectWidth + 1
	var done []int
	newMoments(t, n, randomHistories(rng, 5, n, 6),
		Options{Bands: testBands[:2]}).Project(randomRows(rng, n, k), k, func(d, total int) {
		check.Same(t, 10, total, "total")
		done = append(done, d)
	})
	check.Same(t, []int{2, 4, 7, 10}, done, "progress")
}

func TestPrefixIsProjectionOfPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	const n, k = 50, 40
	histories := randomHistories(rng, 60, n, 9)
	e := randomRows(rng, n, k)
	whole := newMoments(t, n, histories, Options{Bands: testBands}).Project(e, k, nil)
	for _, part := range []struct{ r, k int }{{3, 1}, {3, 13}, {3, k}, {2, k}, {1, 13}} {
		var cut []float32
		for i := range n {
			cut = append(cut, e[i*k:i*k+part.k]...)
		}
		fewer := newMoments(t, n, histories, Options{Bands: testBands[:part.r]})
		checkNormal(t, whole.Prefix(part.r, part.k), fewer.Project(cut, part.k, nil))
	}
}

// The ridge sizes the residual: (G + λmI) B = T, the intercept's row without λ.
func TestSolveSatisfiesNormalEquations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	const n, k = 60, 50
	x := newMoments(t, n, randomHistories(rng, 300, n, 12),
		Options{Bands: testBands}).Project(randomRows(rng, n, k), k, nil)
	rows := x.rows()
	if rows <= choleskyBlock {
		t.Fatalf("%d unknowns are one block", rows)
	}
	mean := 0.0
	for i := range rows - 1 {
		mean += x.G[i*rows+i] / float64(rows-1)
	}
	for _, ridge := range []float64{0, 0.01, 1. / 9, 1} {
		out, near := check.Get(x.Solve(ridge))(t), check.Get(x.Approximate(ridge))(t)
		if ridge > 0 { // the smaller, the worse is the condition
			checkNear(t, out.W, near.W, 1e-5/ridge)
			checkNear(t, out.Mean, near.Mean, 1e-5/ridge)
		}
		for row := range rows {
			for col := range k {
				sum := x.G[row*rows+rows-1] * out.Mean[col]
				for i := range rows - 1 {
					g := x.G[row*rows+i]
					if row == i {
						g += ridge * mean
					}
					sum += g * out.W[(i/k*k+col)*k+i%k]
				}
				if want := x.T[row*k+col]; math.Abs(sum-want) > 1e-9*mean {
					t.Fatalf("ridge %v: row %d, column %d: %v, want %v", ridge, row, col, sum, want)
				}
			}
		}
	}
}

// checkNear fails unless the numbers differ by less than this share of the largest.
func checkNear(t *testing.T, want, got []float64, share float64) {
	t.Helper()
	scale := max(slices.Max(want), -slices.Min(want))
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, share*scale)); d != "" {
		t.Errorf("in float32 (-want +got):\n%s", d)
	}
}

// Numbers that float32 cannot hold, on the right side or in the result only, are left to float64.
func TestApproximateBeyondFloat32(t *testing.T) {
	for _, big := range []float64{1e39, 2e38} {
		x := &Normal{R: 1, K: 1, N: 9, G: []float64{1, 0, 0, 0.5}, T: []float64{1, big}}
		want, got := check.Get(x.Solve(1))(t), check.Get(x.Approximate(1))(t)
		check.Same(t, want, got, "the readout of %v", big)
	}
}

func TestSolveErrors(t *testing.T) {
	// two positions, nine unknowns
	histories := []kalman.History{
		{{Item: 0, Weight: 1}, {Item: 1, Weight: 1}, {Item: 2, Weight: 1}},
	}
	rows := randomRows(rand.New(rand.NewPCG(7, 1)), 3, 4)
	x := newMoments(t, 3, histories, Options{Bands: testBands[:2]}).Project(rows, 4, nil)
	for ridge, want := range map[float64]string{
		0: "Ridge: 0 leaves the normal equations of 9 unknowns and 2 positions " +
			"not positive definite",
		-1:          "Ridge: -1",
		math.NaN():  "Ridge: NaN",
		math.Inf(1): "Ridge: +Inf",
	} {
		for _, solve := range []func(float64) (*Readout, error){x.Solve, x.Approximate} {
			_, err := solve(ridge)
			check.Says(t, err, want, "ridge %v", ridge)
		}
	}
	if _, err := x.Solve(0.1); err != nil {
		t.Error(err)
	}
}

// BenchmarkProject compares the two ways to the sums, for histories of 160 events.
func BenchmarkProject(b *testing.B) {
	const n, k, users, events = 10_000, 256, 12_500, 160
	rng := rand.New(rand.NewPCG(9, 1))
	histories := make([]kalman.History, users)
	for u := range histories {
		for range events {
			histories[u] = append(histories[u], kalman.Event{Weight: 1,
				Item: int32(n * rng.Float64() * rng.Float64())})
		}
	}
	e := randomRows(rng, n, k)
	m := newMoments(b, n, histories, Options{Bands: []kalman.Band{{Rho: 0}, {Rho: 0.5}, {Rho: 0.87}}})
	for name, run := range map[string]func(*projection){
		"adjoints": func(p *projection) { p.byAdjoints(nil) },
		"shift":    func(p *projection) { newShift(p).run(nil) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run(newProjection(m, e, k))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*users*events), "ns/event")
		})
	}
}
