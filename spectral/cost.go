package spectral

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// Work of the iteration. The true numbers are known only at its end; these are typical of graphs of
// shops, films and clicks. All checks amount to one eigenproblem of the size of the whole space.
const (
	tallSlowdown = 1.4 // factor of the time of products of tall matrices with blocks
	blockPasses  = 20  // passes over the n×b numbers of a block for each product with K
)

// Work of forming and using K, in the units of package cost.
const (
	pairWork    = 2   // scattered additions for each pair of items of a user
	chunkWork   = 40  // scattered additions for each interaction that is put into a chunk
	chunkBytes  = 6   // bytes moved for each element of K with each chunk
	finishBytes = 64  // bytes moved for each element of K when it is scaled and mirrored
	sparseRows  = 1.5 // rows of 128 bytes fetched for each interaction and 32 vectors, both ways
	// covarianceRows is sparseRows for each neighbour of an item; its covariance is computed anew.
	covarianceRows = 5.5
	neighbourWork  = 10.0 // scattered additions for each pair of items of a user, sorting included
)

// Cost returns the work and the memory of [Solve] for the graph of r, from its shape. The basis is
// kept.
func Cost(r *Incidence, opt Options) []cost.Stage {
	if opt.Tolerance == 0 {
		opt.Tolerance = DefaultTolerance
	}
	n, k := float64(r.NumItems), float64(opt.Rank)
	m := float64(eigen.TypicalSpace(r.NumItems, opt.Rank))
	vectors, size := eigen.TypicalProducts(r.NumItems, opt.Rank), 4.0
	if opt.Tolerance < eigen.SingleTolerance {
		size = 8
	}
	if r.NumItems <= denseMax || !eigen.FitsKrylov(r.NumItems, opt.Rank) {
		m, vectors, size = n, n, 8
	}
	graph, products := graphCost(r, opt, vectors, size)
	iteration := size/4*(tallSlowdown*4*n*m*m+2*n*m*k)/cost.Single +
		(eigen.EigenWork*m*m*m+eigen.MeasuringWork*n*k*k)/cost.Double +
		blockPasses*size*n*vectors/cost.Stream
	basis, limit := 8*n*k, float64(eigen.SpaceLimit(r.NumItems, opt.Rank))
	space := size*n*limit + 8*limit*limit + 3*8*m*m
	scratch := size * eigen.BlockSize * n * (maxGroups + 6)
	return []cost.Stage{
		graph,
		{Name: "eigenvectors: products", Seconds: products, Peak: space + scratch,
			Kept: space + scratch},
		{Name: "eigenvectors: iteration", Seconds: iteration, Peak: 2.5 * basis,
			Kept: basis - space - scratch - graph.Kept},
	}
}

// graphCost returns the cost of making the graph of r, and the time of multiplying vectors, of
// numbers of a size in bytes, with its K.
func graphCost(
	r *Incidence, opt Options, vectors, size float64,
) (graph cost.Stage, products float64) {
	n := float64(r.NumItems)
	events, users, pairs := r.windowedSize(opt.Graph.Window)
	graph = cost.Stage{Name: "graph", Kept: 8 * (users + n)}
	if opt.Graph.Window > 0 {
		graph.Kept += 4*events + 8*users
	}
	graph.Peak = graph.Kept
	switch {
	case opt.Graph.Kind == Covariance:
		entries := r.neighbours(opt.Graph.Window)
		graph.Seconds = neighbourWork * 2 * pairs / cost.Scatter
		graph.Kept += 8 * entries
		graph.Peak += 16*entries + 4*events
		products = size / 4 * covarianceRows * entries * vectors / eigen.BlockSize / cost.Gather
	case denseIsFaster(r.NumItems, events, pairs, opt):
		moved := n * n * (chunkBytes*math.Ceil(events/gramChunk) + finishBytes)
		graph.Seconds = (pairWork*pairs+chunkWork*events)/cost.Scatter + moved/cost.Stream
		graph.Peak = graph.Kept + 4*n*n + 24*gramChunk
		graph.Kept = 8*n + 4*n*n
		products = 2 * n * n * vectors / cost.Single
	default:
		products = size / 4 * sparseRows * events * vectors / eigen.BlockSize / cost.Gather
	}
	return graph, products
}

// sampledItems is the number of items whose neighbours are counted as a sample.
const sampledItems = 256

// neighbours estimates the number of ordered pairs of different items that occur together in a
// window of w events of some history, from a sample of the items.
func (r *Incidence) neighbours(w int) float64 {
	sampled := make([]int32, r.NumItems) // 1 + the number of the sample
	count := min(sampledItems, r.NumItems)
	for s := range count {
		sampled[s*r.NumItems/count] = int32(s) + 1
	}
	met := make([]map[int32]struct{}, count)
	for s := range met {
		met[s] = map[int32]struct{}{}
	}
	for u := range r.NumUsers() {
		for items := range Windows(r.Item[r.Ptr[u]:r.Ptr[u+1]], w) {
			for _, i := range items {
				if s := sampled[i]; s > 0 {
					for _, j := range items {
						met[s-1][j] = struct{}{}
					}
				}
			}
		}
	}
	sum := 0
	for _, items := range met {
		sum += max(0, len(items)-1)
	}
	return float64(sum) * float64(r.NumItems) / float64(count)
}

// windowedSize returns the numbers of interactions, of hyperedges, and of unordered pairs of items
// in them (an item with itself included) after histories are cut into windows of w.
func (r *Incidence) windowedSize(w int) (events, edges, pairs float64) {
	for u := range r.NumUsers() {
		d, at := int(r.Ptr[u+1]-r.Ptr[u]), 1
		if w > 0 && d > w {
			at += (d - w + w/2 - 1) / (w / 2)
			d = w
		}
		events += float64(at * d)
		edges += float64(at)
		pairs += float64(at) * float64(d) * float64(d+1) / 2
	}
	return events, edges, pairs
}
