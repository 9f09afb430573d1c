package model

import (
	"fmt"
	"slices"

	"github.com/gsimc/gsimc/internal/ranking"
)

// topScratch is the working memory of one TopNUpperConfidence, or of one mergeExtension.
type topScratch struct {
	top  ranking.TopN
	more []ranking.Request

	boosts []ranking.Boost // by item
}

// ScoresTo stores the scores ŷ = D_v^{t/2} U q + b of a query in dst, NumItems long: dst[j] =
// d_j^{t/2} (u_j · q) + b_j. O(nk).
func (m *Model) ScoresTo(dst []float32, q *Query) {
	if len(dst) != m.NumItems() {
		panic(fmt.Sprintf("model: %d items, but scores of length %d", m.NumItems(), len(dst)))
	}
	m.checkQuery(q.Spectrum)
	m.top.ScoresTo(dst[:m.n], q.Spectrum, 0, m.added)
	if m.extension != nil {
		m.extension.top.ScoresTo(dst[m.n:], q.Spectrum, 0, m.extension.added)
	}
	ranking.AddBoosts(dst, q.Boosts)
}

// CopyBytes returns the size of the model's memory outside of the Go heap that the system cannot
// take back: the copies of the basis that TopN reads, and the file if it was loaded.
func (m *Model) CopyBytes() int64 {
	bytes := m.top.Bytes()
	if m.memory.Copy {
		bytes += int64(len(m.memory.Data))
	}
	return bytes
}

// TopN stores the n items with the largest scores from dst[:0] on, and returns them: best first,
// ties to the smaller index, without the items in skip. There are fewer than n if fewer items are
// left. The scores are equal in all bits to those of ScoresTo. skip may be nil or must have
// NumItems bits.
//
// The selection is exact. It usually reads a quarter of the bytes of the basis or less, see package
// topn. It does not allocate if dst has room for n items.
func (m *Model) TopN(dst []ranking.Scored, q *Query, n int, skip *ranking.Set) []ranking.Scored {
	batch := [1]ranking.Request{{
		Query: q.Spectrum, Boosts: q.Boosts, N: n, Skip: skip, Top: dst,
	}}
	m.TopNBatch(batch[:])
	return batch[0].Top
}

// TopNBatch answers every request with the result of TopN: the same items, order and bits. Requests
// share the pass over the memory, so a batch costs much less than its requests one after the other.
// A request with few items in Among reads only their rows.
func (m *Model) TopNBatch(batch []ranking.Request) {
	for i := range batch {
		m.checkQuery(batch[i].Query)
		m.checkSkip(batch[i].Skip)
	}
	m.top.Search(batch, m.added)
	if m.extension != nil {
		m.mergeExtension(batch)
	}
}

// mergeExtension merges the items of the extension into answers from the base.
func (m *Model) mergeExtension(batch []ranking.Request) {
	s := m.scratch.Get().(*topScratch)
	defer m.scratch.Put(s)
	for len(s.more) < len(batch) {
		s.more = append(s.more, ranking.Request{})
	}
	more := s.more[:len(batch)]
	for i, r := range batch {
		r.Top = more[i].Top[:0]
		more[i] = r
	}
	m.extension.top.Search(more, m.extension.added)
	for i := range batch {
		r := &batch[i]
		r.Top = append(r.Top, more[i].Top...)
		slices.SortFunc(r.Top, ranking.Compare)
		r.Top = r.Top[:min(len(r.Top), max(r.N, 0))]
		more[i] = ranking.Request{Top: more[i].Top} // keep nothing alive but the room
	}
}

func (m *Model) checkSkip(skip *ranking.Set) {
	if skip != nil && skip.Cap() != m.NumItems() {
		panic(fmt.Sprintf("model: %d items, but a skip set of %d", m.NumItems(), skip.Cap()))
	}
}
