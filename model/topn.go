package model

import (
	"fmt"

	"github.com/gsimc/gsimc/internal/vec"
)

// Scored is an item with its score: the fields Item int32 and Score float32.
type Scored = vec.Scored

// blockRows is how many scores TopN computes before it selects from them: they stay in the first-level cache.
const blockRows = 512

// topScratch is the working memory of one TopN.
type topScratch struct {
	scores [blockRows]float32
	top    vec.TopN
}

// ScoresTo stores the n scores ŷ = D_v^{t/2} U q of a query in dst: dst[j] = d_j^{t/2} (u_j · q). O(nk).
func (m *Model) ScoresTo(dst, q []float32) {
	if len(dst) != m.n {
		panic(fmt.Sprintf("model: %d items, but scores of length %d", m.n, len(dst)))
	}
	m.checkQuery(q)
	m.scoreBlock(dst, q, 0)
}

// TopN stores in dst[:0] the n items of the largest scores among those that are not in skip, best first, ties to the
// smaller index, and returns it; fewer than n if there are not so many. The scores have the bits of ScoresTo. skip may be
// nil or must have NumItems bits.
//
// One scan, O(nk), exact. No allocation if dst has room for n.
func (m *Model) TopN(dst []Scored, q []float32, n int, skip *vec.Bitset) []Scored {
	m.checkQuery(q)
	return m.selectTop(dst, n, skip, func(block []float32, first int) { m.scoreBlock(block, q, first) })
}

// selectTop selects the n items of the largest scores; score stores those of the items first, first+1, … in block.
func (m *Model) selectTop(dst []Scored, n int, skip *vec.Bitset, score func(block []float32, first int)) []Scored {
	if skip != nil && skip.Len() != m.n {
		panic(fmt.Sprintf("model: %d items, but a skip set of %d", m.n, skip.Len()))
	}
	s := m.scratch.Get().(*topScratch)
	defer m.scratch.Put(s)
	s.top.Reset(dst, min(n, m.n))
	for first := 0; first < m.n; first += blockRows {
		block := s.scores[:min(blockRows, m.n-first)]
		score(block, first)
		s.top.Offer(int32(first), block, skip)
	}
	return s.top.Sorted()
}

// scoreBlock stores the scores of the items first, first+1, … in dst.
func (m *Model) scoreBlock(dst, q []float32, first int) {
	vec.ScanTo(dst, m.basis[first*m.k:(first+len(dst))*m.k], q)
	for i, g := range m.decoderScale[first : first+len(dst)] {
		dst[i] *= g
	}
}

func (m *Model) checkQuery(q []float32) {
	if len(q) != m.k {
		panic(fmt.Sprintf("model: rank %d, but query of length %d", m.k, len(q)))
	}
}
