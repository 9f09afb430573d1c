package model

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
)

// sampleStream is the second word of the generator's seed. It must not change: SampleTo promises
// the same draw for the same seed.
const sampleStream = 0x67_73_69_6d_63 // "gsimc"

// SampleTo stores in dst a draw from the distribution of a query, for Thompson sampling:
//
//	q̃ = q + scale · V^{1/2} ξ
//
// p holds V (see VarianceTo), and ξ_1 … ξ_k are the first k values of rand.New(rand.NewPCG(seed,
// 0x6773696d63)).NormFloat64() of math/rand/v2. The local term is kept: p does not cover it. dst
// may be q. O(k).
func (m *Model) SampleTo(dst, q *Query, p []float32, scale float64, seed uint64) {
	m.checkQuery(dst.Spectrum)
	m.checkQuery(q.Spectrum)
	m.checkQuery(p)
	rng := rand.New(rand.NewPCG(seed, sampleStream))
	for j, x := range q.Spectrum {
		dst.Spectrum[j] = x + float32(scale*math.Sqrt(float64(p[j]))*rng.NormFloat64())
	}
	if dst != q {
		dst.Boosts = append(dst.Boosts[:0], q.Boosts...)
	}
}

// TopNUpperConfidence is TopN by the upper confidence bounds
//
//	ŷ_i + beta · (Σ_l v_il² p_l)^{1/2}
//
// of the items. The returned scores are these bounds. The selection is exact. It needs two scans,
// done in one pass over the basis.
func (m *Model) TopNUpperConfidence(
	dst []ranking.Scored, q *Query, p []float32, beta float32, n int, skip *ranking.Set,
) []ranking.Scored {
	m.checkQuery(q.Spectrum)
	m.checkQuery(p)
	m.checkSkip(skip)
	s := m.scratch.Get().(*topScratch)
	defer m.scratch.Put(s)
	s.top.Reset(dst, min(n, m.NumItems()))
	s.boosts = append(s.boosts[:0], q.Boosts...)
	ranking.SortBoosts(s.boosts)
	s.offerUpper(&m.table, 0, q.Spectrum, p, beta, skip)
	if m.extension != nil {
		s.offerUpper(&m.extension.table, m.n, q.Spectrum, p, beta, skip)
	}
	return s.top.Sorted()
}

// offerUpper offers the upper confidence bounds of all items of t. Row 0 of t is the item with
// index base.
func (s *topScratch) offerUpper(
	t *table, base int, q, p []float32, beta float32, skip *ranking.Set,
) {
	var bound, spread [spreadRows]float32
	n, boosts := len(t.ids), s.boosts
	for first := 0; first < n; first += spreadRows {
		rows := min(spreadRows, n-first)
		t.top.ScoresTo(bound[:rows], q, first, t.added)
		for len(boosts) > 0 && int(boosts[0].Item) < base+first+rows {
			if at := int(boosts[0].Item) - base - first; at >= 0 {
				bound[at] += boosts[0].Score
			}
			boosts = boosts[1:]
		}
		t.spreadTo(spread[:rows], p, first)
		for i, deviation := range spread[:rows] {
			bound[i] += float32(beta * deviation)
		}
		s.top.Offer(int32(base+first), bound[:rows], skip)
	}
}

// spreadRows is the number of rows of the basis in a block: one scan reads the block after the
// other, and 64 rows stay in the caches in between.
const spreadRows = 64

// spreadTo stores in dst the standard deviations of the scores of rows first, first+1, … of t.
func (t *table) spreadTo(dst, p []float32, first int) {
	k := len(p)
	vec.ScanSquaresTo(dst, t.basis[first*k:(first+len(dst))*k], p)
	for i, g := range t.decoderScale[first : first+len(dst)] {
		dst[i] = float32(g * float32(math.Sqrt(float64(dst[i]))))
	}
}

// Score returns the score of item i, equal in all bits to that of ScoresTo. O(k + len(q.Boosts)).
func (m *Model) Score(i int32, q *Query) float32 {
	m.checkItem(i)
	m.checkQuery(q.Spectrum)
	return m.smoothScore(i, q.Spectrum) + ranking.BoostOf(q.Boosts, i)
}

// smoothScore returns the score of item i, with its trend, without a local term.
func (m *Model) smoothScore(i int32, q []float32) float32 {
	u, g := m.decoder(i)
	return vec.Dot(u, q)*g + 0 + m.additionOf(i)
}

// checkItem panics on an item that the model does not have.
func (m *Model) checkItem(i int32) {
	if i < 0 || int(i) >= m.NumItems() {
		panic(fmt.Sprintf("model: item %d of %d", i, m.NumItems()))
	}
}
