package topn

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gsimc/gsimc/internal/vec"
	"github.com/gsimc/gsimc/ranking"
)

// key packs an item and its score so that rising keys are the order of [ranking.Before]. Scores are
// not NaN and not −0.
func key(item int32, score float32) uint64 {
	b := math.Float32bits(score)
	b ^= uint32(int32(b)>>31) | 1<<31 // rising with the score: negative numbers turned over, positive ones above them
	return uint64(^b)<<32 | uint64(uint32(item))
}

// scored unpacks a key.
func scored(k uint64) ranking.Scored {
	b := ^uint32(k >> 32)
	if b>>31 != 0 {
		b ^= 1 << 31
	} else {
		b = ^b
	}
	return ranking.Scored{Item: int32(uint32(k)), Score: math.Float32frombits(b)}
}

// bins is how many bins sortKeys deals into, and fewKeys how many keys are not worth it, or too many for one bin.
const (
	bins    = 256
	fewKeys = 24
)

// sortKeys sorts the keys. It deals them into bins by the digits in which they differ, so that hardly any comparison is left,
// whose outcome no processor can foresee.
func (s *search) sortKeys() {
	if len(s.keys) <= fewKeys {
		slices.Sort(s.keys)
		return
	}
	least, most := slices.Min(s.keys), slices.Max(s.keys)
	shift := max(0, bits.Len64(most-least)-8)
	var ends [bins]int32 // of the bins, once all are dealt
	for _, k := range s.keys {
		ends[uint8((k-least)>>shift)]++
	}
	at := int32(0)
	for b, n := range ends {
		ends[b], at = at, at+n
	}
	s.dealt = slices.Grow(s.dealt[:0], len(s.keys))[:len(s.keys)]
	for _, k := range s.keys {
		b := uint8((k - least) >> shift)
		s.dealt[ends[b]] = k
		ends[b]++
	}
	s.keys, s.dealt = s.dealt, s.keys
	first := int32(0)
	for _, end := range ends {
		if end-first > 1 {
			sortBin(s.keys[first:end])
		}
		first = end
	}
}

// sortBin sorts a bin, by insertion unless it is full.
func sortBin(keys []uint64) {
	if len(keys) > fewKeys {
		slices.Sort(keys)
		return
	}
	for i := 1; i < len(keys); i++ {
		for j := i; j > 0 && keys[j] < keys[j-1]; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
}

// answer stores the N first of the keys.
func (s *search) answer() {
	s.sortKeys()
	s.keys = s.keys[:min(len(s.keys), s.req.N)]
	s.req.Top = s.req.Top[:0]
	for _, k := range s.keys {
		s.req.Top = append(s.req.Top, scored(k))
	}
}

// blockRows is how many scores scan computes before it selects from them: they stay in the first cache.
const blockRows = 512

// scan answers in float32: the slow way that the other must agree with.
func (s *search) scan() {
	x := s.ix
	s.scores = slices.Grow(s.scores[:0], blockRows)[:blockRows]
	s.best.Reset(s.req.Top, s.req.N)
	for first := 0; first < x.n; first += blockRows {
		scores := s.scores[:min(blockRows, x.n-first)]
		x.ScoresTo(scores, s.req.Query, first)
		s.best.Offer(x.first+int32(first), scores, s.req.Skip)
	}
	s.req.Top = s.best.Sorted()
}

// ScoresTo stores in dst the scores of the rows first, first+1, …
func (x *Index) ScoresTo(dst, q []float32, first int) {
	vec.ScanTo(dst, x.rows[first*x.k:(first+len(dst))*x.k], q)
	for i, g := range x.gain[first : first+len(dst)] {
		dst[i] = dst[i]*g + 0 // no −0: it would be a tie with 0 that has other bits
	}
}

// has tells whether an item is one of the index.
func (x *Index) has(item int32) bool { return item >= x.first && int(item-x.first) < x.n }

// selective is the share of the items up to which an allow-list is scored item by item, as one part in so many: a row in
// float32 has four times the bytes, and reading here and there is slower.
const selective = 6

// among answers a request with an allow-list.
func (s *search) among() {
	x, r := s.ix, &s.req
	if len(r.Among) > x.n/selective && x.quantised {
		s.allBut()
		return
	}
	s.keys, s.rows = s.keys[:0], s.rows[:0]
	for _, i := range r.Among {
		if x.has(i) && !r.Skip.Has(i) {
			s.rows = append(s.rows, i-x.first)
		}
	}
	slices.Sort(s.rows)
	s.rows = slices.Compact(s.rows)
	s.scoreKeys()
	s.answer()
}

// allBut answers a request with a long allow-list by a scan that skips all others.
func (s *search) allBut() {
	x, r := s.ix, s.req
	if size := int(x.first) + x.n; s.others == nil || s.others.Cap() != size {
		s.others = ranking.NewSet(size)
	}
	s.others.Fill()
	for _, i := range r.Among {
		if x.has(i) && !r.Skip.Has(i) {
			s.others.Remove(i)
		}
	}
	r.Among, r.Skip = nil, s.others
	batch := [1]ranking.Request{r}
	x.Search(batch[:])
	s.req.Top = batch[0].Top
}
