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

// ScoresTo stores the scores ŷ = D_v^{t/2} U q of a query in dst, NumItems long: dst[j] = d_j^{t/2} (u_j · q). O(nk).
func (m *Model) ScoresTo(dst, q []float32) {
	if len(dst) != m.NumItems() {
		panic(fmt.Sprintf("model: %d items, but scores of length %d", m.NumItems(), len(dst)))
	}
	m.checkQuery(q)
	m.table.scoreTo(dst[:m.n], q, 0)
	if m.extension != nil {
		m.extension.scoreTo(dst[m.n:], q, 0)
	}
}

// TopN stores in dst[:0] the n items of the largest scores among those that are not in skip, best first, ties to the
// smaller index, and returns it; fewer than n if there are not so many. The scores have the bits of ScoresTo. skip may be
// nil or must have NumItems bits.
//
// One scan, O(nk), exact. No allocation if dst has room for n.
func (m *Model) TopN(dst []Scored, q []float32, n int, skip *vec.Bitset) []Scored {
	m.checkQuery(q)
	return m.selectTop(dst, n, skip, func(block []float32, t *table, first int) { t.scoreTo(block, q, first) })
}

// TopNRequest is one request of a batch, with the arguments of TopN, and its answer.
type TopNRequest struct {
	Query []float32   // k
	N     int         // how many items
	Skip  *vec.Bitset // items that must not be returned; nil: none
	Among []int32     // if not nil, the only items that may be returned, in any order; may hold an item several times

	Top []Scored // the answer, stored from Top[:0] on
}

// TopNBatch answers every request with what TopN would: the same items, order and bits. Requests share the pass over the
// memory, so many cost much less than one after the other. A request with Among costs a look at these items only.
func (m *Model) TopNBatch(batch []TopNRequest) {
	for i := range batch {
		r := &batch[i]
		skip := r.Skip
		if r.Among != nil {
			skip = m.allBut(r.Among, skip)
		}
		r.Top = m.TopN(r.Top, r.Query, r.N, skip)
	}
}

// allBut returns the set of all items but those of among that are not in skip.
func (m *Model) allBut(among []int32, skip *vec.Bitset) *vec.Bitset {
	others := vec.NewBitset(m.NumItems())
	for i := range int32(m.NumItems()) {
		others.Set(i)
	}
	for _, i := range among {
		if !skip.Has(i) {
			others.Clear(i)
		}
	}
	return others
}

// scorer stores the scores of the items first, first+1, … of t in block.
type scorer func(block []float32, t *table, first int)

// selectTop selects the n items of the largest scores.
func (m *Model) selectTop(dst []Scored, n int, skip *vec.Bitset, score scorer) []Scored {
	if skip != nil && skip.Len() != m.NumItems() {
		panic(fmt.Sprintf("model: %d items, but a skip set of %d", m.NumItems(), skip.Len()))
	}
	s := m.scratch.Get().(*topScratch)
	defer m.scratch.Put(s)
	s.top.Reset(dst, min(n, m.NumItems()))
	s.offer(&m.table, 0, score, skip)
	if m.extension != nil {
		s.offer(&m.extension.table, m.n, score, skip)
	}
	return s.top.Sorted()
}

// offer offers all items of t, the first of which has the index base.
func (s *topScratch) offer(t *table, base int, score scorer, skip *vec.Bitset) {
	n := len(t.ids)
	for first := 0; first < n; first += blockRows {
		block := s.scores[:min(blockRows, n-first)]
		score(block, t, first)
		s.top.Offer(int32(base+first), block, skip)
	}
}

// scoreTo stores the scores of the items first, first+1, … of t in dst.
func (t *table) scoreTo(dst, q []float32, first int) {
	k := len(q)
	vec.ScanTo(dst, t.basis[first*k:(first+len(dst))*k], q)
	for i, g := range t.decoderScale[first : first+len(dst)] {
		dst[i] *= g
	}
}

func (m *Model) checkQuery(q []float32) {
	if len(q) != m.k {
		panic(fmt.Sprintf("model: rank %d, but query of length %d", m.k, len(q)))
	}
}
