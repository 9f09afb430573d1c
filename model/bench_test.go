package model

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

// benchModel builds a model of any size without solving for a basis, and without New's float64 copy
// of it.
func benchModel(b *testing.B, n, k int) *Model {
	b.Helper()
	m := &Model{
		spec: testSpec(), n: n, k: k,
		table: table{
			ids: itemNames(n), basis: make([]float32, n*k), degrees: make([]int64, n),
			encoderScale: make([]float32, n), decoderScale: make([]float32, n),
			graphScale: make([]float64, n),
		},
		spectrum: spectrum{response: make([]float32, k), kappa: make([]float64, k),
			lambda: make([]float64, k)},
	}
	m.spec.Alpha = 0.98
	m.transition = &diagonalFilter{newPaperFilter(&m.spec, m.response, flatPrior(k))}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range m.basis {
		m.basis[i] = rng.Float32() - 0.5
	}
	for i := range n {
		m.encoderScale[i], m.decoderScale[i] = 1, 1
	}
	for j := range k {
		m.response[j] = 0.9
	}
	check.Must(b, m.finish())
	return m
}

func benchSizes(b *testing.B, run func(b *testing.B, m *Model)) {
	for _, n := range []int{20_000, 200_000} {
		for _, k := range []int{64, 256, 1000} {
			b.Run(fmt.Sprintf("n=%d/k=%d", n, k), func(b *testing.B) {
				m := benchModel(b, n, k)
				b.ReportAllocs()
				b.ResetTimer()
				run(b, m)
			})
		}
	}
}

// BenchmarkFold takes in events on random items of many users: neither rows nor states are in the
// cache. The time grows with k and not with n.
func BenchmarkFold(b *testing.B) {
	benchSizes(b, func(b *testing.B, m *Model) {
		rng := rand.New(rand.NewPCG(2, 2))
		states := make([]*kalman.State, 1000)
		for u := range states {
			states[u] = m.NewState()
		}
		for b.Loop() {
			m.Fold(states[rng.IntN(len(states))], Event{Item: int32(rng.IntN(m.n)), Weight: 1})
		}
	})
}

// benchDynamics gives m learned dynamics of r bands with a deviation.
func benchDynamics(b *testing.B, m *Model, r int) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	m.spec.Dynamics = DynamicsSpec{Kind: DynamicsLearned, Ridge: 1, Deviation: true}
	for range r {
		m.spec.Dynamics.Bands = append(m.spec.Dynamics.Bands, kalman.Band{Rho: rng.Float64()})
	}
	rows := make([]float32, m.n*r*m.k)
	for i := range rows {
		rows[i] = rng.Float32() - 0.5
	}
	m.setPredictions(rows)
	m.transition = &learnedDynamics{Dynamics: kalman.Dynamics{
		Bands: m.spec.Dynamics.Bands, Mean: make([]float32, m.k),
		P0: flatPrior(m.k), SigmaEta: flatPrior(m.k), SigmaNu: flatPrior(m.k),
	}}
}

// BenchmarkObserveDynamics is BenchmarkFold for one size, beside learned dynamics: r bands are r
// rows of an item instead of one.
func BenchmarkObserveDynamics(b *testing.B) {
	const n, k = 20_000, 256
	for _, r := range []int{0, 1, 3} {
		b.Run(fmt.Sprintf("n=%d/k=%d/r=%d", n, k, r), func(b *testing.B) {
			m := benchModel(b, n, k)
			if r > 0 {
				benchDynamics(b, m, r)
			}
			rng := rand.New(rand.NewPCG(2, 2))
			states := make([]*kalman.State, 1000)
			for u := range states {
				states[u] = m.NewState()
			}
			b.ReportAllocs()
			for b.Loop() {
				m.Fold(states[rng.IntN(len(states))], Event{Item: int32(rng.IntN(m.n)), Weight: 1})
			}
		})
	}
}

func BenchmarkTopN(b *testing.B) {
	benchSizes(b, func(b *testing.B, m *Model) {
		q, skip := m.NewQuery(), ranking.NewSet(m.n)
		copy(q.Spectrum, m.basis)
		for i := range int32(100) {
			skip.Add(i)
		}
		dst := make([]ranking.Scored, 0, 10)
		b.SetBytes(int64(4 * m.n * m.k))
		for b.Loop() {
			dst = m.TopN(dst, q, 10, skip)
		}
	})
}

// TestConcurrentUse: different states folded and read at the same time give what one after the
// other gives.
func TestConcurrentUse(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	m := mustNew(t, testSpec(), randomBasis(rng, 700, 6), nil)
	histories := randomHistories(rng, 700, 16)
	answer := func(h History) []ranking.Scored {
		s, q := m.NewState(), m.NewQuery()
		for _, e := range h {
			m.Fold(s, e)
		}
		m.QueryTo(q, s, EstimatorBGS)
		return m.TopN(nil, q, 5, nil)
	}
	got := make([][]ranking.Scored, len(histories))
	var wg sync.WaitGroup
	for u, h := range histories {
		wg.Go(func() {
			for range 20 {
				got[u] = answer(h)
			}
		})
	}
	wg.Wait()
	for u, h := range histories {
		check.Same(t, answer(h), got[u], "user %d", u)
	}
}
