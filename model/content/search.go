package content

import (
	"cmp"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/ranking"
)

// search is the memory of one search.
type search struct {
	x       *Index
	sums    []float32 // by item, Σ idf² of the tokens that it shares; zero between calls
	touched []int32   // items whose sum is not zero
	best    []float32 // the largest cosines, descending
}

// Nearest returns up to k items of the largest similarity above 0, largest first, ties by index.
//
// It reads the rare tokens first. An item with none of them has a cosine of at most √rest/‖d‖, rest
// being Σ idf² of the lists to come, by the inequality of Cauchy and Schwarz. Once k items have
// more, the long lists of frequent tokens are searched for items that may still be among the
// nearest, and not read.
func (x *Index) Nearest(d Document, k int) []Neighbour {
	if x.points.compare(d.Embedding) {
		return x.points.nearest(d.Embedding, max(0, k))
	}
	s := x.scratch.Get().(*search)
	defer x.scratch.Put(s)
	lists, square := x.lists(&d)
	rest, norm := 0.0, float32(math.Sqrt(square))
	for _, list := range lists {
		rest += x.square(len(list))
	}
	closed := k <= 0
	for _, list := range lists {
		// Sums are rounded, so the bound has some room.
		most := float32(math.Sqrt(max(rest, 0)))/norm + 1e-4
		if least := s.least(k, norm); least > most {
			closed = true
			s.drop(least-most, norm)
		}
		weight := x.square(len(list))
		s.add(list, float32(weight), closed)
		rest -= weight
	}
	near := s.nearest(k, norm)
	s.forget()
	return near
}

// lists are the items of the tokens of d that count, the shortest list first, and Σ idf² of all its
// tokens. A token that all documents have counts nothing.
func (x *Index) lists(d *Document) (lists [][]int32, square float64) {
	for _, token := range d.tokens() {
		var list []int32
		if t, found := slices.BinarySearch(x.tokens, token); found {
			list = x.items[x.ptr[t]:x.ptr[t+1]]
		}
		if len(list) > 0 && len(list) < x.count {
			lists = append(lists, list)
		}
		square += x.square(len(list))
	}
	slices.SortStableFunc(lists, func(a, b []int32) int { return cmp.Compare(len(a), len(b)) })
	return lists, square
}

// add adds a weight to the sums of the items of a list, if closed to those alone that have one.
func (s *search) add(list []int32, weight float32, closed bool) {
	switch {
	case closed && len(s.touched) < len(list)/64:
		for _, i := range s.touched {
			if _, found := slices.BinarySearch(list, i); found {
				s.sums[i] += weight
			}
		}
		return
	case closed:
		for _, i := range list {
			if s.sums[i] != 0 {
				s.sums[i] += weight
			}
		}
		return
	}
	for _, i := range list {
		if s.sums[i] == 0 {
			s.touched = append(s.touched, i)
		}
		s.sums[i] += weight
	}
}

// cosine is that of item i, as far as it is known, with a document of this norm.
func (s *search) cosine(i int32, norm float32) float32 {
	return min(1, s.sums[i]/(s.x.norms[i]*norm))
}

// least returns the k-th largest cosine, 0 if there are not so many.
func (s *search) least(k int, norm float32) float32 {
	if len(s.touched) < k || k <= 0 {
		return 0
	}
	s.best = s.best[:0]
	for _, i := range s.touched {
		c := s.cosine(i, norm)
		if len(s.best) == k && c <= s.best[k-1] {
			continue
		}
		at := len(s.best)
		for at > 0 && s.best[at-1] < c {
			at--
		}
		s.best = slices.Insert(s.best[:min(len(s.best), k-1)], min(at, k-1), c)
	}
	return s.best[k-1]
}

// drop forgets the items with a cosine below least.
func (s *search) drop(least, norm float32) {
	s.touched = slices.DeleteFunc(s.touched, func(i int32) bool {
		below := s.cosine(i, norm) < least
		if below {
			s.sums[i] = 0
		}
		return below
	})
}

// forget ends a search.
func (s *search) forget() {
	for _, i := range s.touched {
		s.sums[i] = 0
	}
	s.touched = s.touched[:0]
}

// nearest returns the k items of the largest cosines.
func (s *search) nearest(k int, norm float32) []Neighbour {
	least := s.least(k, norm)
	var all []ranking.Scored
	for _, i := range s.touched {
		if c := s.cosine(i, norm); c >= least && c > 0 {
			all = append(all, ranking.Scored{Item: i, Score: c})
		}
	}
	slices.SortFunc(all, ranking.Compare)
	near := make([]Neighbour, 0, max(0, min(k, len(all))))
	for _, best := range all[:cap(near)] {
		near = append(near, Neighbour{best.Item, float64(best.Score)})
	}
	return near
}

// AddTo adds the similarity of each item with d to sums. It reads all lists of the tokens of d, or
// all embeddings.
func (x *Index) AddTo(sums []float32, d Document) {
	if x.points.compare(d.Embedding) {
		x.points.cosines(d.Embedding, func(i int32, cosine float32) { sums[i] += cosine })
		return
	}
	lists, square := x.lists(&d)
	norm := math.Sqrt(square)
	for _, list := range lists {
		weight := float32(x.square(len(list)) / norm)
		for _, i := range list {
			sums[i] += float32(weight / x.norms[i])
		}
	}
}
