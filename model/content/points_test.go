package content

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// drawnPoints draws points of a length, some of them twice.
func drawnPoints(rng *rand.Rand, n, length int) [][]float32 {
	all := make([][]float32, n)
	for i := range all {
		if i > 0 && rng.IntN(5) == 0 {
			all[i] = all[rng.IntN(i)]
			continue
		}
		for range length {
			all[i] = append(all[i], float32(rng.NormFloat64()))
		}
	}
	return all
}

// inOrder are the documents of items 0, 1, ….
func inOrder(all []Document) iter.Seq2[int32, Document] {
	return func(yield func(int32, Document) bool) {
		for i, d := range all {
			if !yield(int32(i), d) {
				return
			}
		}
	}
}

// similarTo are the known points at less than a right angle, the nearest first.
func similarTo(points [][]float32, at []float32) (near []Neighbour) {
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	for i, p := range points {
		if c := dot(p, at) / math.Sqrt(dot(p, p)*dot(at, at)); c > 0 {
			near = append(near, Neighbour{int32(i), c})
		}
	}
	slices.SortFunc(near, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.Item, b.Item))
	})
	return near
}

// TestNearestEmbeddings compares with all angles, also where items are equally near.
func TestNearestEmbeddings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, length := range []int{1, 2, 3, 17, 384} {
		points := drawnPoints(rng, 60, length)
		all := make([]Document, len(points))
		for i, p := range points {
			all[i] = Document{Title: "film", Embedding: p}
		}
		x := NewIndex(len(points), inOrder(all), nil)
		for _, at := range drawnPoints(rng, 20, length) {
			want := similarTo(points, at)
			sums := make([]float32, len(points))
			x.AddTo(sums, Document{Embedding: at})
			for _, k := range []int{0, 1, 10, 100} {
				got := x.Nearest(Document{Title: "film", Embedding: at}, k)
				check.Same(t, min(k, len(want)), len(got), "%d neighbours", k)
				for i := range got {
					if math.Abs(got[i].Similarity-want[i].Similarity) > 1e-6 ||
						float32(got[i].Similarity) != sums[got[i].Item] {
						t.Errorf("%d coordinates: %v is nearest, want %v", length, got[i], want[i])
					}
				}
			}
		}
	}
}

// TestEmbeddingsBesideTokens: an item with an embedding is compared with those that have one of the
// same length, and any other item by its tokens.
func TestEmbeddingsBesideTokens(t *testing.T) {
	x := NewIndex(4, inOrder([]Document{
		{Title: "red shoe", Embedding: []float32{1, 0}}, {Title: "blue hat"},
		{Title: "green coat", Embedding: []float32{0, 1}},
		{Title: "grey coat", Embedding: []float32{0, 1, 0}},
	}), nil)
	for _, c := range []struct {
		d    Document
		want []int32
	}{
		{Document{Title: "blue hat", Embedding: []float32{1, 0.1}}, []int32{0, 2}},
		{Document{Title: "blue hat", Embedding: []float32{-1, 0.1}}, []int32{2}},
		{Document{Title: "hat"}, []int32{1}},
		{Document{Title: "hat", Embedding: []float32{0, 1, 0}}, []int32{1}},
	} {
		var got []int32
		for _, near := range x.Nearest(c.d, 10) {
			got = append(got, near.Item)
		}
		slices.Sort(got)
		check.Same(t, c.want, got, "%v is near", c.d)
	}
}

func BenchmarkNearestEmbeddings(b *testing.B) {
	const n, length = 100_000, 384
	all := make([]Document, n)
	for i, p := range drawnPoints(rand.New(rand.NewPCG(1, 1)), n, length) {
		all[i].Embedding = p
	}
	x := NewIndex(n, inOrder(all), nil)
	for i := 0; b.Loop(); i++ {
		x.Nearest(all[i%n], 10)
	}
}
