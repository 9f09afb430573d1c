// Package content finds the known items whose content is closest to that of a new item.
//
// The content of an item is a set of tokens: the words of its title, the pairs of adjacent words,
// the years in it and their decades, the categories and the labels. A number that is no year, such
// as that of a third part, counts in pairs alone. A token that N_t of N documents have counts
//
//	idf_t = ln((N + 1)/(N_t + 1))
//
// and two items are as similar as the cosine of the vectors of their tokens. A token that all items
// have counts nothing, and one that no other item has makes an item less similar to all. Words are
// compared byte by byte in small letters. A title without spaces is one word. The first 32 words
// count, and the first 64 categories and labels.
//
// An item with an embedding is compared, by the cosine of both, with the known items that have one
// of the same length, if there are any, and with no others.
package content

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync"
)

// Document is what an item says of itself.
type Document struct {
	Title              string
	Categories, Labels []string
	Embedding          []float32 // empty: none
}

// Neighbour is a known item that is similar to another one.
type Neighbour struct {
	Item       int32
	Similarity float64 // cosine, in (0, 1]
}

// Index holds the documents of items. It does not change, and is safe for concurrent use.
type Index struct {
	n     int // items
	count int // documents

	// The lists of items by token, ascending: list t is items[ptr[t]:ptr[t+1]].
	tokens []uint64 // ascending
	ptr    []int
	items  []int32

	norms   []float32 // by item; 0: no document, or nothing that counts
	points  points
	scratch *sync.Pool // of *search
}

// posting is a token of an item.
type posting struct {
	token uint64
	item  int32
}

// parts is the number of parts in which postings are sorted, by the first bits of their tokens.
const parts = 256

// NewIndex returns an index of documents of items 0…n−1 of a model, each at most once. Items
// without one are left out. It takes 4 bytes for each token of each item, 16 for each token, and 36
// for each embedding, which it shares. Of embeddings of several lengths, those of the first one
// count. Once the documents have come, it calls rest, unless that is nil, after each of many short
// steps.
func NewIndex(n int, documents iter.Seq2[int32, Document], rest func()) *Index {
	x := &Index{n: n, norms: make([]float32, n)}
	x.scratch = &sync.Pool{New: func() any { return &search{x: x, sums: make([]float32, n)} }}
	var all [parts][]posting
	count := 0
	for item, d := range documents {
		x.count++
		x.points.add(item, d.Embedding)
		for _, token := range d.tokens() {
			part := &all[token>>56]
			*part = append(*part, posting{token, item})
			count++
		}
	}
	x.items = make([]int32, 0, count)
	for i := range all {
		x.add(all[i])
		all[i] = nil
		if rest != nil {
			rest()
		}
	}
	x.tokens, x.ptr = slices.Clip(x.tokens), append(x.ptr, count)
	x.setNorms()
	return x
}

// add sorts postings, whose tokens are larger than those before, and adds them.
func (x *Index) add(part []posting) {
	slices.SortFunc(part, func(a, b posting) int {
		return cmp.Or(cmp.Compare(a.token, b.token), cmp.Compare(a.item, b.item))
	})
	for at, p := range part {
		if at == 0 || p.token != part[at-1].token {
			x.tokens, x.ptr = append(x.tokens, p.token), append(x.ptr, len(x.items))
		}
		x.items = append(x.items, p.item)
	}
}

// setNorms sets norms, the lengths of the items' vectors.
func (x *Index) setNorms() {
	squares := make([]float64, x.n)
	for t := range x.tokens {
		items := x.items[x.ptr[t]:x.ptr[t+1]]
		for _, i := range items {
			squares[i] += x.square(len(items))
		}
	}
	for i, square := range squares {
		x.norms[i] = float32(math.Sqrt(square))
	}
}

// square is the square of the weight of a token that a number of documents have.
func (x *Index) square(have int) float64 {
	idf := math.Log(float64(x.count+1) / float64(have+1))
	return idf * idf
}
