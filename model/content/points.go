package content

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
)

// points are the embeddings of known items, all of the length of the first one.
type points struct {
	items   []int32
	at      [][]float32 // shared with the documents
	lengths []float64   // Euclidean
}

func (p *points) add(item int32, at []float32) {
	if len(at) > 0 && (len(p.at) == 0 || len(at) == len(p.at[0])) {
		p.items, p.at = append(p.items, item), append(p.at, at)
		p.lengths = append(p.lengths, length(at))
	}
}

// compare reports whether known items are to be compared with an embedding.
func (p *points) compare(at []float32) bool {
	return len(p.at) > 0 && len(at) == len(p.at[0])
}

// cosines calls fn for the items that are similar to an embedding.
func (p *points) cosines(at []float32, fn func(item int32, cosine float32)) {
	own := length(at)
	for n, other := range p.at {
		if c := float32(float64(vec.Dot(at, other)) / (own * p.lengths[n])); c > 0 {
			fn(p.items[n], min(1, c))
		}
	}
}

// nearest returns the k items of the largest cosines.
func (p *points) nearest(at []float32, k int) []Neighbour {
	best := make([]ranking.Scored, 0, k+1) // the best first
	p.cosines(at, func(item int32, cosine float32) {
		x := ranking.Scored{Item: item, Score: cosine}
		if len(best) == k && (k == 0 || ranking.Compare(best[k-1], x) < 0) {
			return
		}
		place, _ := slices.BinarySearchFunc(best, x, ranking.Compare)
		best = slices.Insert(best, place, x)
		best = best[:min(len(best), k)]
	})
	near := make([]Neighbour, len(best))
	for i, x := range best {
		near[i] = Neighbour{x.Item, float64(x.Score)}
	}
	return near
}

func length(at []float32) float64 { return math.Sqrt(float64(vec.Dot(at, at))) }
