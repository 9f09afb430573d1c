package topn

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
)

// key packs an item and its score so that rising keys are the order of [ranking.Before]. Scores are
// not NaN and not −0.
func key(item int32, score float32) uint64 {
	b := math.Float32bits(score)
	// Rising with the score: negative numbers are inverted, positive ones stand above them.
	b ^= uint32(int32(b)>>31) | 1<<31
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

const (
	bins    = 256 // of sortKeys
	fewKeys = 24  // up to this number, sortKeys uses no bins and sortBin sorts by insertion
)

// sortKeys sorts the keys. It distributes them into bins by the leading digits in which they
// differ. A comparison sort would mispredict half of its branches; binning needs few comparisons.
func (s *search) sortKeys() {
	if len(s.keys) <= fewKeys {
		slices.Sort(s.keys)
		return
	}
	least, most := slices.Min(s.keys), slices.Max(s.keys)
	shift := max(0, bits.Len64(most-least)-8)
	var ends [bins]int32 // of the bins, once all keys are distributed
	for _, k := range s.keys {
		ends[uint8((k-least)>>shift)]++
	}
	at := int32(0)
	for b, n := range ends {
		ends[b], at = at, at+n
	}
	s.spareKeys = slices.Grow(s.spareKeys[:0], len(s.keys))[:len(s.keys)]
	for _, k := range s.keys {
		b := uint8((k - least) >> shift)
		s.spareKeys[ends[b]] = k
		ends[b]++
	}
	s.keys, s.spareKeys = s.spareKeys, s.keys
	first := int32(0)
	for _, end := range ends {
		if end-first > 1 {
			sortBin(s.keys[first:end])
		}
		first = end
	}
}

// sortBin sorts a bin, by insertion if it has at most fewKeys keys.
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

// answer stores the items of the first N keys in the request.
func (s *search) answer() {
	s.sortKeys()
	s.keys = s.keys[:min(len(s.keys), s.req.N)]
	s.req.Top = s.req.Top[:0]
	for _, k := range s.keys {
		s.req.Top = append(s.req.Top, scored(k))
	}
}

// blockRows is the number of scores that scan computes before it selects from them: a few blocks
// of the copies, few enough to stay in the first-level cache.
const blockRows = 4 * vec.BlockRows

// scan answers searches by a scan in float32, the slow way that all others must agree with. Each
// part of the matrix is read from memory once for all of them.
func (x *Index) scan(searches []*search) {
	for _, s := range searches {
		s.scores = slices.Grow(s.scores[:0], blockRows)[:blockRows]
		s.best.Reset(s.req.Top, s.req.N)
		s.boosts.sort(s, nil)
	}
	for first := 0; first < x.n && len(searches) > 0; first += blockRows {
		for _, s := range searches {
			scores := s.scores[:min(blockRows, x.n-first)]
			x.ScoresTo(scores, s.req.Query, first, s.added)
			s.boosts.addTo(scores, first)
			s.best.Offer(x.first+int32(first), scores, s.req.Skip)
		}
	}
	for _, s := range searches {
		s.req.Top = s.best.Sorted()
	}
}

// ScoresTo stores in dst the scores of the rows first, first+1, …, with their additions unless
// added is nil.
func (x *Index) ScoresTo(dst, q []float32, first int, added *Additions) {
	vec.ScanTo(dst, x.rows[first*x.k:(first+len(dst))*x.k], q)
	for i, g := range x.gain[first : first+len(dst)] {
		dst[i] = dst[i]*g + 0 // no −0: it would be a tie with 0 that has other bits
	}
	added.addTo(dst, first)
}

// has reports whether the index has the item.
func (x *Index) has(item int32) bool { return item >= x.first && int(item-x.first) < x.n }

// amongDivisor limits allow-lists: up to n/amongDivisor items are scored one by one, and a longer
// list is answered by a scan. A row in float32 has four times the bytes of one in int8, and reading
// rows here and there is slower than in order.
const amongDivisor = 6

// scoreAmong answers a request with an allow-list.
func (s *search) scoreAmong() {
	x, r := s.ix, &s.req
	if len(r.Among) > x.n/amongDivisor && x.quantised {
		s.scanAmong()
		return
	}
	s.boosts.sort(s, x.place)
	s.keys = s.keys[:0]
	s.clearRows()
	for _, i := range r.Among {
		if x.has(i) && !r.Skip.Has(i) {
			s.rows = append(s.rows, i-x.first)
		}
	}
	slices.Sort(s.rows)
	s.rows = slices.Compact(s.rows)
	if len(s.boosts.rows) > 0 {
		for _, row := range s.rows {
			s.places = append(s.places, x.placeOf(row))
		}
	}
	s.scoreKeys()
	s.answer()
}

// scanAmong answers a request with a long allow-list by a scan that skips all other items.
func (s *search) scanAmong() {
	x, r := s.ix, s.req
	if size := int(x.first) + x.n; s.notAmong == nil || s.notAmong.Cap() != size {
		s.notAmong = ranking.NewSet(size)
	}
	s.notAmong.Fill()
	for _, i := range r.Among {
		if x.has(i) && !r.Skip.Has(i) {
			s.notAmong.Remove(i)
		}
	}
	r.Among, r.Skip = nil, s.notAmong
	batch := [1]ranking.Request{r}
	x.Search(batch[:], s.added)
	s.req.Top = batch[0].Top
}
