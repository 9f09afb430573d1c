package spectral

import (
	"math"

	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// affinity is K, known by its products: float32 for the iteration, float64 for the reported
// figures.
type affinity struct {
	single eigen.Operator[float32]
	double eigen.Operator[float64]
}

const (
	// roundedTolerance is the tolerance from which on float32 products measure the result too.
	roundedTolerance = 5e-5
)

// newAffinity chooses between the sparse form of K and the dense one. A hypergraph whose K is dense
// loses its hyperedges: they take about as much memory as all events of a training.
func newAffinity(g itemGraph, opt Options) affinity {
	if h, ok := g.(*hypergraph); ok && h.denseIsFaster(opt) {
		opt.meter.Begin(formingShare(g.Dim(), opt))
		k := newGramOp(h, opt.meter)
		*h = hypergraph{r: &Incidence{NumItems: k.n}, vScale: h.vScale}
		return affinity{single: k, double: eigen.Rounded{Operator: k}}
	}
	a := affinity{single: g.single(), double: g.double()}
	if opt.Tolerance >= roundedTolerance {
		a.double = eigen.Rounded{Operator: a.single}
	}
	return a
}

func (g *hypergraph) denseIsFaster(opt Options) bool {
	events, _, pairs := g.r.windowedSize(0)
	return denseIsFaster(g.Dim(), events, pairs, opt)
}

// Times in seconds of one processor, measured on a machine of 2025. The choice depends on their
// ratios only.
const (
	secondsPerPair   = 0.45e-9  // an addition of newGramOp
	secondsPerAdding = 0.4e-9   // an element of K that a chunk is added to
	secondsPerFinish = 7e-9     // an element of K that is scaled and mirrored
	secondsPerEntry  = 10.5e-12 // a product with an element of the dense K
	secondsPerRow    = 0.115e-9 // two products with an element of R
	maxGramBytes     = 5 << 30  // of the dense K
)

// denseIsFaster tells whether forming K of a hypergraph as a dense matrix takes less time than it
// saves. events is the number of interactions. pairs is the number of unordered pairs of items in
// the same hyperedge, an item with itself included. A dense K is rounded to float32, so the finest
// tolerances exclude it.
func denseIsFaster(items int, events, pairs float64, opt Options) bool {
	n := float64(items)
	if opt.Graph.Kind != Hypergraph || opt.Tolerance < eigen.SingleTolerance ||
		items > maxGramItems || 4*n*n > maxGramBytes {
		return false
	}
	products := eigen.TypicalProducts(items, opt.Rank)
	forming := pairs*secondsPerPair +
		n*n*(secondsPerAdding*math.Ceil(events/gramChunk)+secondsPerFinish)
	return forming+products*n*n*secondsPerEntry < products*events*secondsPerRow
}

// formingShare is the share of the solver's time that forming K as a dense matrix takes.
func formingShare(items int, opt Options) float64 {
	p := eigen.Problem{K: opt.Rank, Product: opt.product}
	return opt.forming / (opt.forming + p.Seconds(items))
}

// without is K without all pieces but the largest, see withoutPieces.
func (a affinity) without(p *pieces, shift float64) affinity {
	return affinity{
		single: &withoutPieces[float32]{Operator: a.single, p: p, shift: shift},
		double: &withoutPieces[float64]{Operator: a.double, p: p, shift: shift},
	}
}
