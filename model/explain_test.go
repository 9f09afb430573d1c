package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
)

// explained are the kinds of models whose folds Explain unrolls.
var explained = []struct {
	name      string
	estimator Estimator
	edit      func(*Spec)
}{
	{"gs-imc", EstimatorGS, func(*Spec) {}},
	{"gs-imc, forgetting", EstimatorGS,
		func(s *Spec) { s.Alpha, s.HalfLife, s.DegreeRescale = 0.8, 500, 0.5 }},
	{"gs-imc, full covariance", EstimatorGS,
		func(s *Spec) { s.Alpha, s.Covariance = 0.9, CovarianceFull }},
	{"bgs-imc", EstimatorBGS, func(*Spec) {}},
	{"bgs-imc, forgetting", EstimatorBGS,
		func(s *Spec) { s.Alpha, s.HalfLife, s.DegreeRescale, s.SigmaNu = 0.8, 500, 0.5, 0.01 }},
	{"bgs-imc, full covariance", EstimatorBGS,
		func(s *Spec) { s.Covariance, s.SigmaNu = CovarianceFull, 0.01 }},
	{"dynamics, no deviation", EstimatorBGS, func(s *Spec) { learnedBands(s, false) }},
	{"dynamics", EstimatorBGS, func(s *Spec) { learnedBands(s, true) }},
	{"dynamics, local term", EstimatorBGS, func(s *Spec) {
		learnedBands(s, true)
		s.Local = local.Default()
	}},
	{"dynamics, half-lives", EstimatorGS, func(s *Spec) {
		learnedBands(s, true)
		s.Dynamics.Bands = []kalman.Band{{Rho: 0.5, HalfLife: 300}, {Rho: 1, HalfLife: 5000}}
	}},
}

func learnedBands(s *Spec, deviation bool) {
	s.DegreeRescale = 0.6
	s.Dynamics = DynamicsSpec{
		Kind: DynamicsLearned, Bands: []kalman.Band{{Rho: 0}, {Rho: 0.5}, {Rho: 0.9}}, Ridge: 0.3,
		Deviation: deviation,
	}
}

// newLearned builds a model of random data, with training histories.
func newLearned(tb testing.TB, rng *rand.Rand, n, k int, edit func(*Spec)) *Model {
	tb.Helper()
	spec := testSpec()
	edit(&spec)
	return mustNewFrom(tb, spec, randomBasis(rng, n, k), fit.Histories{
		Train: slices.Values(randomHistories(rng, n, 60)), Validation: randomHistories(rng, n, 40),
	})
}

// explainHistory has weights of both signs, items that come again, and times that stand still or go
// back.
func explainHistory(rng *rand.Rand, n, length int) History {
	h, at := make(History, length), int64(1_000_000)
	for s := range h {
		at += int64(rng.IntN(400)) - 50
		h[s] = Event{Item: int32(rng.IntN(n)), Weight: 0.2 + 2*rng.Float32(), Time: at}
		if rng.IntN(5) == 0 {
			h[s].Weight = -h[s].Weight
		}
	}
	return h
}

// TestExplainSum: the parts add up to the score, whether the state began empty or not.
func TestExplainSum(t *testing.T) {
	const n, k = 40, 12
	for _, kind := range explained {
		t.Run(kind.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			m, _ := withTrends(rng, newLearned(t, rng, n, k, kind.edit))
			items := make([]int32, n)
			for i := range items {
				items[i] = int32(i)
			}
			scores, q := make([]float32, n), m.NewQuery()
			for trial := range 60 {
				h := explainHistory(rng, n, rng.IntN(50))
				cut := 0
				if len(h) > 0 && trial%2 == 1 {
					cut = rng.IntN(len(h))
				}
				before := m.StateOf(h[:cut])
				x := m.Explain(before, h[cut:], items, kind.estimator)
				after := before.Clone()
				for _, e := range h[cut:] {
					m.Fold(after, e)
				}
				m.QueryTo(q, after, kind.estimator)
				m.ScoresTo(scores, q)
				for i := range items {
					checkExplained(t, x, i, scores[i])
				}
				if cut == 0 {
					for i, e := range x.Earlier {
						if e != 0 {
							t.Fatalf(
								"trial %d: %v of the score of item %d comes from an empty state",
								trial, e, i)
						}
					}
				}
			}
		})
	}
}

// TestExplainEach compares every contribution with the oracle: the fold of the whole state, of
// which each event's share is carried along by itself.
func TestExplainEach(t *testing.T) {
	const n, k = 30, 7
	for _, kind := range explained {
		t.Run(kind.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			m := newLearned(t, rng, n, k, kind.edit)
			items := []int32{3, 17, 17, 29}
			for range 10 {
				h := explainHistory(rng, n, 1+rng.IntN(30))
				x := m.Explain(m.NewState(), h, items, kind.estimator)
				shares := newShares(m, h)
				for j, i := range items {
					check := func(what string, got, want float64) {
						t.Helper()
						if math.Abs(got-want) > 1e-5*max(math.Abs(want), 0.1) {
							t.Fatalf("item %d, %s: %v, want %v", i, what, got, want)
						}
					}
					check("base", x.Base[j], m.scoreOf(i, shares.query(len(h), kind.estimator)))
					for s := range h {
						check(fmt.Sprint("event ", s), x.Events[j*len(h)+s],
							m.scoreOf(i, shares.query(s, kind.estimator))+localShare(m, h, s, i))
						if x.Local != nil {
							check(fmt.Sprint("local term of event ", s), x.Local[j*len(h)+s],
								localShare(m, h, s, i))
						} else if m.local != nil {
							t.Fatal("nothing is told of the local term")
						}
					}
				}
			}
		})
	}
}

// localShare is the local term that event s of h gives to item i, by its definition.
func localShare(m *Model, h History, s int, i int32) float64 {
	age := len(h) - 1 - s
	if m.local == nil || age >= m.spec.Local.Events {
		return 0
	}
	factor := math.Pow(m.spec.Local.Fade, float64(age)) * float64(h[s].Weight)
	for _, part := range []*local.Graph{m.Base().local, m.local.More()} {
		if part == nil || int(h[s].Item) >= len(part.Ptr)-1 {
			continue
		}
		items, values := part.Row(h[s].Item)
		if k := slices.Index(items, i); k >= 0 {
			return factor * float64(values[k])
		}
	}
	return 0
}

// shares are the states of a history, forward in time: share s < len(h) is that of event s, share
// len(h) that of μ. All are folded by the same linear updates, each with the input of its own event
// only. The gains come from variances in float64.
type shares struct {
	m       *Model
	x, z, b [][]float64 // share × r·k, k, k
}

func newShares(m *Model, h History) *shares {
	r := max(1, len(m.spec.Dynamics.Bands))
	sh := &shares{m: m}
	for range len(h) + 1 {
		sh.x = append(sh.x, make([]float64, r*m.k))
		sh.z = append(sh.z, make([]float64, m.k))
		sh.b = append(sh.b, make([]float64, m.k))
	}
	p := make([]float64, m.k)
	for j, v := range m.NewState().P {
		p[j] = float64(v)
	}
	newest := int64(math.MinInt64)
	for t, e := range h {
		dt := 0.0
		if t > 0 {
			dt = max(0, float64(e.Time-newest))
		}
		newest = max(newest, e.Time)
		if m.spec.Dynamics.learned() {
			sh.stepDynamics(t, e, p, dt)
		} else {
			sh.stepFilter(t, e, p, dt)
		}
	}
	return sh
}

// decayOf is ρ·2^(−dt/halfLife).
func decayOf(b kalman.Band, dt float64) float64 {
	if b.HalfLife == 0 {
		return b.Rho
	}
	return b.Rho * math.Exp2(-dt/b.HalfLife)
}

func (sh *shares) stepDynamics(t int, e Event, p []float64, dt float64) {
	m, d, k := sh.m, dynamicsOf(sh.m), sh.m.k
	u, g := m.encoder(e.Item)
	rows := m.prediction(e.Item)
	for j := range k {
		if d.HasDeviation() && e.Weight > 0 {
			if t > 0 {
				p[j] += float64(d.SigmaEta[j]) * (1 + d.Drift*dt)
			}
			nu := float64(d.SigmaNu[j]) / float64(e.Weight)
			gain := p[j] / (p[j] + nu)
			p[j] = gain * nu
			for s := range sh.b {
				innovation := -sh.b[s][j]
				for b := range d.Bands {
					innovation -= sh.x[s][b*k+j]
				}
				if s == t {
					innovation += float64(g) * float64(u[j])
				}
				if s == len(sh.b)-1 {
					innovation -= float64(d.Mean[j])
				}
				sh.b[s][j] += gain * innovation
			}
		}
		for b, band := range d.Bands {
			for s := range sh.x {
				sh.x[s][b*k+j] *= decayOf(band, dt)
			}
			sh.x[t][b*k+j] += float64(e.Weight) * float64(rows[b*k+j])
		}
	}
}

func (sh *shares) stepFilter(t int, e Event, p []float64, dt float64) {
	m, f := sh.m, filterOf(sh.m)
	u, g := m.encoder(e.Item)
	w := float64(e.Weight) * float64(g)
	a := decayOf(kalman.Band{Rho: f.Alpha, HalfLife: f.HalfLife}, dt)
	for j := range m.k {
		p[j] = a*a*p[j] + float64(f.SigmaEta)
		gain := p[j] / (p[j] + float64(f.SigmaNu))
		p[j] = gain * float64(f.SigmaNu)
		for s := range sh.x {
			sh.x[s][j] *= a
			sh.z[s][j] *= a
			if s == t {
				sh.x[s][j] += w * predictedOf(m, e.Item, j)
				sh.z[s][j] += w * float64(u[j])
			}
			sh.x[s][j] += gain * (sh.z[s][j] - sh.x[s][j])
		}
	}
}

// query is what share s adds to the query.
func (sh *shares) query(s int, est Estimator) []float64 {
	m, k := sh.m, sh.m.k
	q := make([]float64, k)
	switch {
	case m.spec.Dynamics.learned():
		for j := range q {
			q[j] = sh.b[s][j]
			for at := j; at < len(sh.x[s]); at += k {
				q[j] += sh.x[s][at]
			}
			if s == len(sh.b)-1 {
				q[j] += float64(dynamicsOf(m).Mean[j])
			}
		}
	case est == EstimatorBGS:
		copy(q, sh.x[s])
	case m.rotation == nil:
		for j, h := range m.response {
			q[j] = float64(h) * sh.z[s][j]
		}
	default: // QᵀHQ z
		for i, h := range m.response {
			hz := 0.0
			for l, r := range row(m.rotation, i, k) {
				hz += float64(h) * float64(r) * sh.z[s][l]
			}
			for l, r := range row(m.rotation, i, k) {
				q[l] += float64(r) * hz
			}
		}
	}
	return q
}
