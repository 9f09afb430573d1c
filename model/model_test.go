package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/topn"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// shapes are the n×k of the tests: one item, rank one, full rank, and the blocks of
// TopNUpperConfidence with a rest, and those of package topn.
var shapes = [][2]int{{1, 1}, {7, 1}, {6, 6}, {50, 8}, {8 * spreadRows, 3}, {16*spreadRows + 17, 5}}

// specs are the variants of what a model can do.
func specs() map[string]Spec {
	variants := map[string]Spec{}
	add := func(name string, change func(*Spec)) {
		s := testSpec()
		change(&s)
		variants[name] = s
	}
	add("paper", func(*Spec) {})
	add("cutoff", func(s *Spec) { s.Filter = spectral.DefaultFilter(spectral.Cutoff) })
	add("rescaled", func(s *Spec) { s.DegreeRescale = 0.5 })
	add("rescaled down", func(s *Spec) { s.DegreeRescale = -1 })
	add("forgetting", func(s *Spec) { s.Alpha, s.HalfLife = 0.9, 600 })
	add("full", func(s *Spec) { s.Covariance = CovarianceFull })
	add("everything", func(s *Spec) {
		s.Covariance, s.Alpha, s.HalfLife = CovarianceFull, 0.95, 3600
		s.DegreeRescale, s.Window = 0.7, 16
		s.Filter = spectral.DefaultFilter(spectral.Diffusion)
	})
	return variants
}

func forEach(
	t *testing.T, test func(t *testing.T, rng *rand.Rand, spec Spec, b *spectral.Basis, m *Model),
) {
	for name, spec := range specs() {
		for _, shape := range shapes {
			t.Run(fmt.Sprintf("%s/n=%d/k=%d", name, shape[0], shape[1]), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(shape[0]), uint64(shape[1])))
				b := randomBasis(rng, shape[0], shape[1])
				test(t, rng, spec, b, mustNew(t, spec, b, randomHistories(rng, shape[0], 30)))
			})
		}
	}
}

// TestScoresGS holds the closed form, folded event by event, against the dense operator on the
// whole signal.
func TestScoresGS(t *testing.T) {
	forEach(t, func(t *testing.T, rng *rand.Rand, spec Spec, b *spectral.Basis, m *Model) {
		h := randomHistory(rng, b.N, 12)
		s := m.StateOf(h)
		q, scores := m.NewQuery(), make([]float32, b.N)
		m.QueryTo(q, s, EstimatorGS)
		m.ScoresTo(scores, q)
		near(t, "ŷ", scores, denseScores(spec, b, h), 1e-5)
	})
}

// TestInitialState: x̂ = H Uᵀs scores like the closed form, P = P_0, and the counters are those of
// the fold.
func TestInitialState(t *testing.T) {
	forEach(t, func(t *testing.T, rng *rand.Rand, spec Spec, b *spectral.Basis, m *Model) {
		h := randomHistory(rng, b.N, 5)
		s := m.InitialState(h)
		q, scores := m.NewQuery(), make([]float32, b.N)
		m.QueryTo(q, s, EstimatorBGS)
		m.ScoresTo(scores, q)
		near(t, "U x̂", scores, denseScores(spec, b, h), 1e-5)
		if diff := cmp.Diff(m.NewState().P, s.P); diff != "" || s.Events != 5 || s.Time != 240 {
			t.Errorf("%d events, time %d, P (-want +got):\n%s", s.Events, s.Time, diff)
		}
		check.Same(t, m.NewState(), m.InitialState(nil), "without events")
	})
}

// TestPrior holds P_0, or QΛQᵀ, against its definition.
func TestPrior(t *testing.T) {
	for name, spec := range specs() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			b := randomBasis(rng, 40, 6)
			validation := randomHistories(rng, 40, 25)
			// Too short: ignored.
			m := mustNew(t, spec, b, append(validation, History{}, History{{Item: 1, Weight: 5}}))
			want := densePrior(spec, b, validation)
			got := mat.NewDiagDense(6, gemm.ToFloat64(m.NewState().P))
			if spec.Covariance == CovarianceDiagonal {
				near(t, "P_0", m.NewState().P, mat.Col(nil, 0, diagonalOf(want)), 1e-5)
				return
			}
			q := mat.NewDense(6, 6, gemm.ToFloat64(m.rotation))
			var full mat.Dense
			full.Product(q, got, q.T())
			near(t, "QΛQᵀ", gemm.ToFloat32(full.RawMatrix().Data), want.RawMatrix().Data, 1e-5)
			p := m.NewState().P
			falling := func(a, b float32) int { return int(math.Copysign(1, float64(b-a))) }
			if !slices.IsSortedFunc(p, falling) {
				t.Errorf("Λ = %v, want it descending", p)
			}
		})
	}
}

// TestPriorWithoutValidation: the mean square of one event, drawn by popularity.
func TestPriorWithoutValidation(t *testing.T) {
	b := &spectral.Basis{
		N: 3, K: 1, U: []float64{0.8, 0.6, 0}, Kappa: []float64{1}, Lambda: []float64{0},
		Degrees: []int64{3, 1, 0},
		Scale:   []float64{0.577, 1, 0},
	}
	m := mustNew(t, testSpec(), b, nil)
	near(t, "P_0", m.NewState().P, []float64{(3*0.64 + 1*0.36 + 1*0) / 5}, 1e-6)

	b.U = []float64{0, 0, 1} // with a degree of 0
	b.Degrees = []int64{3, 1, 0}
	p := mustNew(t, testSpec(), b, []History{{{Item: 0}, {Item: 1}}}).NewState().P[0]
	check.Same(t, float32(kalman.MinVariance), p, "P_0 of a direction that nobody moves in")
}

// TestScoresBGS holds the served state, folded from nothing, against the dense filter: end to end,
// rotation included.
func TestScoresBGS(t *testing.T) {
	for name, spec := range specs() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 8))
			b := randomBasis(rng, 60, 7)
			validation := randomHistories(rng, 60, 40)
			p0 := densePrior(spec, b, validation)
			if spec.Covariance == CovarianceDiagonal {
				p0 = mat.DenseCopyOf(mat.NewDiagDense(7, mat.Col(nil, 0, diagonalOf(p0))))
			}
			m := mustNew(t, spec, b, validation)
			h := randomHistory(rng, 60, 15)
			s := m.StateOf(h)
			q, scores := m.NewQuery(), make([]float32, 60)
			m.QueryTo(q, s, EstimatorBGS)
			m.ScoresTo(scores, q)
			near(t, "ŷ", scores, denseBGS(spec, b, p0, h), 2e-5)
		})
	}
}

func TestTopN(t *testing.T) {
	forEach(t, func(t *testing.T, rng *rand.Rand, _ Spec, b *spectral.Basis, m *Model) {
		for i := range b.N { // whole rows alike: ties that the scan must not break
			if from := rng.IntN(b.N); i%3 == 0 && b.Degrees[i] == b.Degrees[from] || i%5 == 0 {
				copy(row(m.basis, i, b.K), row(m.basis, from, b.K))
				m.decoderScale[i] = m.decoderScale[from]
			}
		}
		m.top = topn.New(m.basis, m.decoderScale, m.k, 0)
		q, scores := m.NewQuery(), make([]float32, b.N)
		for range 20 {
			for j := range q.Spectrum {
				q.Spectrum[j] = float32(rng.NormFloat64())
			}
			skip := ranking.NewSet(b.N)
			for range rng.IntN(b.N + 1) {
				skip.Add(int32(rng.IntN(b.N)))
			}
			m.ScoresTo(scores, q)
			for _, n := range []int{0, 1, 10, b.N, b.N + 5} {
				got := append([]ranking.Scored{}, m.TopN(nil, q, n, skip)...)
				check.MustSame(t, topOracle(scores, n, skip), got, "top %d", n)
			}
			check.MustSame(t, topOracle(scores, 3, nil), m.TopN(nil, q, 3, nil),
				"without a skip set")
		}
	})
}

func TestPopular(t *testing.T) {
	b := randomBasis(rand.New(rand.NewPCG(1, 1)), 5, 2)
	b.Degrees = []int64{3, 9, 3, 0, 9}
	m := mustNew(t, testSpec(), b, nil)
	check.Same(t, []int32{1, 4, 0, 2, 3}, m.Popular(), "popular items")
	if m.Degree(4) != 9 || m.NumTrainUsers() != 100 || m.NumItems() != 5 || m.Rank() != 2 {
		t.Error("wrong sizes")
	}
	if i, ok := m.ItemIndex("item-0000003"); !ok || i != 3 || m.ItemID(3) != "item-0000003" {
		t.Errorf("ItemIndex = %d, %v", i, ok)
	}
	if _, ok := m.ItemIndex("item"); ok {
		t.Error("an unknown id has an index")
	}
}

func TestNewRefuses(t *testing.T) {
	type input struct {
		spec  Spec
		basis *spectral.Basis
		items []string
	}
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		change func(x *input)
		want   string
	}{
		{"graph", func(x *input) { x.spec.Graph = "tree" }, `Graph: "tree"`},
		{"degree exponent", func(x *input) { x.spec.DegreeExponent = nan }, "DegreeExponent: NaN"},
		{"window", func(x *input) { x.spec.Window = 1 }, "Window: 1"},
		{"degree rescale", func(x *input) { x.spec.DegreeRescale = 3 }, "DegreeRescale: 3"},
		{"degree rescale NaN", func(x *input) { x.spec.DegreeRescale = nan }, "DegreeRescale: NaN"},
		{"popularity", func(x *input) {
			learnedBands(&x.spec, false)
			x.spec.Dynamics.Popularity = -1
		}, "Popularity: -1"},
		{"filter", func(x *input) { x.spec.Filter.Phi = 0 }, "Phi: 0"},
		{"alpha", func(x *input) { x.spec.Alpha = 0 }, "Alpha: 0"},
		{"half-life", func(x *input) { x.spec.HalfLife = -1 }, "HalfLife: -1"},
		{"process noise", func(x *input) { x.spec.SigmaEta = 0 }, "SigmaEta: 0"},
		{"measurement noise", func(x *input) { x.spec.SigmaNu = nan }, "SigmaNu: NaN"},
		{"covariance", func(x *input) { x.spec.Covariance = "" }, `Covariance: ""`},
		{"no users", func(x *input) { x.spec.TrainUsers = 0 }, "TrainUsers: 0"},
		{"provenance", func(x *input) { x.spec.Provenance["x"] = "\xff" },
			`"x" is not valid UTF-8`},
		{"too few users", func(x *input) { x.basis.Degrees[2] = 101 }, "item 2 has degree 101"},
		{"negative degree", func(x *input) { x.basis.Degrees[2] = -1 }, "item 2 has degree -1"},
		{"basis NaN", func(x *input) { x.basis.U[3] = nan }, "basis[3] is NaN"},
		{"basis overflow", func(x *input) { x.basis.U[3] = 1e300 }, "basis[3] is +Inf"},
		{"eigenvalue NaN", func(x *input) { x.basis.Kappa[1] = nan }, "eigenvalue 1 is NaN"},
		{"eigenvalue order", func(x *input) { x.basis.Kappa[1] = 2 }, "eigenvalue 1 is above"},
		{"item order", func(x *input) { x.items[1] = "zzz" }, `"item-0000002" after "zzz"`},
		{"item twice", func(x *input) { x.items[1] = x.items[0] }, "distinct"},
		{"item empty", func(x *input) { x.items[0] = "" }, "item 0 has an id of 0 bytes"},
		{"item long", func(x *input) { x.items[3] = strings.Repeat("x", 257) }, "257 bytes"},
		{"item bytes", func(x *input) { x.items[3] = "x\xfe" }, "not valid UTF-8"},
	} {
		x := &input{testSpec(), randomBasis(rand.New(rand.NewPCG(1, 2)), 4, 2), itemNames(4)}
		c.change(x)
		_, err := New(x.spec, x.basis, x.items, fit.Histories{})
		check.Says(t, err, c.want, "%s", c.name)
	}
	spec := testSpec()
	spec.Covariance = CovarianceFull
	vast := float32(math.Inf(1))
	_, err := New(spec, randomBasis(rand.New(rand.NewPCG(1, 2)), 4, 2), itemNames(4),
		fit.Histories{Validation: []History{{{Weight: vast}, {Weight: vast}}}})
	check.Says(t, err, "no finite eigenvalues", "infinite weights")
}

// TestModelsShareNothing: what a caller does afterwards with its arguments and results does not
// reach the model.
func TestModelsShareNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	spec, b, items := testSpec(), randomBasis(rng, 6, 2), itemNames(6)
	m := check.Get(New(spec, b, items, fit.Histories{}))(t)
	version := m.image().Version()
	clear(b.U)
	clear(b.Kappa)
	clear(b.Degrees)
	items[0] = "other"
	spec.Provenance["command"] = "other"
	m.Spec().Provenance["command"] = "other"
	m.NewState().P[0] = 7
	if got := m.image().Version(); got != version || got != m.Version() {
		t.Errorf("version %s became %s", version, got)
	}
}

func TestShapesPanic(t *testing.T) {
	m := mustNew(t, testSpec(), randomBasis(rand.New(rand.NewPCG(1, 2)), 4, 2), nil)
	for name, f := range map[string]func(){
		"New": func() {
			_, _ = New(testSpec(), &spectral.Basis{N: 4, K: 2}, itemNames(4), fit.Histories{})
		},
		"QueryTo":   func() { m.QueryTo(&Query{Spectrum: make([]float32, 3)}, m.NewState(), EstimatorGS) },
		"estimator": func() { m.QueryTo(m.NewQuery(), m.NewState(), "svd") },
		"ScoresTo":  func() { m.ScoresTo(make([]float32, 3), m.NewQuery()) },
		"query":     func() { m.ScoresTo(make([]float32, 4), &Query{Spectrum: make([]float32, 3)}) },
		"TopN":      func() { m.TopN(nil, &Query{Spectrum: make([]float32, 3)}, 1, nil) },
		"skip":      func() { m.TopN(nil, m.NewQuery(), 1, ranking.NewSet(5)) },
		"Explain":   func() { m.Explain(m.NewState(), nil, []int32{4}, EstimatorBGS) },
		"negative":  func() { m.Explain(m.NewState(), nil, []int32{-1}, EstimatorBGS) },
	} {
		check.Panics(t, "model: ", name, f)
	}
}

// TestSteadyStateDoesNotAllocate: the data path of Observe and Recommend.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, covariance := range []string{CovarianceDiagonal, CovarianceFull} {
		rng := rand.New(rand.NewPCG(1, 2))
		spec := testSpec()
		spec.Covariance, spec.HalfLife = covariance, 3600
		m := mustNew(t, spec, randomBasis(rng, 600, 8), nil)
		s, q, dst, skip := m.NewState(), m.NewQuery(), make([]ranking.Scored, 0, 10),
			ranking.NewSet(600)
		at := int64(0)
		if allocs := testing.AllocsPerRun(200, func() {
			at++
			m.Fold(s, Event{Item: int32(at % 600), Weight: 1, Time: at})
			m.QueryTo(q, s, EstimatorGS)
		}); allocs != 0 {
			t.Errorf("%s: %v allocations in Fold and QueryTo", covariance, allocs)
		}
		if raceEnabled {
			continue // the race detector makes sync.Pool forget at random
		}
		allocs := testing.AllocsPerRun(200, func() { dst = m.TopN(dst, q, 10, skip) })
		check.Same(t, 0.0, allocs, "%s: allocations in TopN", covariance)
	}
}
