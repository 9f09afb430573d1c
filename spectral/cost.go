package spectral

import (
	"github.com/gsimc/gsimc/internal/cost"
)

// What the iteration does is only known when it is done. These are typical.
const (
	eigenWork      = 9   // operations for each m³ of an eigenproblem of size m,
	eigenSlowdown  = 4   // which run slower than products
	eigenProblems  = 3   // of the size of the space
	sparseSlowdown = 2   // of products with R, whose rows are of all sizes
	typicalSpace   = 1.7 // vectors of the space for each of the basis, each of them orthogonalised twice
	typicalDegree  = 4   // products with K for each vector of the space
)

// Cost is what [Solve] takes for the graph of r, by its shape. The basis is kept.
func Cost(r *Incidence, opt Options) []cost.Stage {
	if opt.Tolerance == 0 {
		opt.Tolerance = DefaultTolerance
	}
	n, k := float64(r.NumItems), float64(opt.Rank)
	events, users, pairs := r.windowedSize(opt.Graph.Window)
	m, limit, size := typicalSpace*k, float64(columnLimit(r.NumItems, opt.Rank)), 4.0
	if opt.Tolerance < singleTolerance {
		size = 8
	}
	if r.NumItems <= denseMax || !lanczosFits(r.NumItems, opt.Rank) {
		m, limit = n, n
	}
	graph := cost.Stage{Name: "graph", Kept: 8 * (users + n)}
	if opt.Graph.Window > 0 {
		graph.Kept += 4*events + 8*users
	}
	var products, iteration cost.Work
	vectors := typicalDegree*m + k
	if dense(r.NumItems, events, pairs, opt) {
		graph.Work[cost.Scatter] = pairs
		graph.Kept += 4 * n * n
		products[cost.Single] = 2 * n * n * vectors
	} else {
		products[cost.Gather] = sparseSlowdown * 2 * events * vectors * size / 128
	}
	graph.Peak = graph.Kept + 24*gramChunk
	iteration[cost.Single] = 4*n*m*m + 2*n*m*k
	iteration[cost.Double] = eigenProblems*eigenSlowdown*eigenWork*m*m*m + 6*n*k*k
	iteration[cost.Stream] = 6 * size * n * vectors
	basis := 8 * n * k
	space := size*n*limit + 3*8*limit*limit
	scratch := size * sparseStrip * n * (maxGroups + 6)
	return []cost.Stage{
		graph,
		{Name: "eigenvectors: products", Work: products, Peak: space + scratch, Kept: space + scratch},
		{Name: "eigenvectors: iteration", Work: iteration, Peak: 2 * basis, Kept: basis - space - scratch - graph.Kept},
	}
}

// windowedSize is the number of interactions, of hyperedges and of pairs of items in them, each once and with itself, after cutting histories
// into windows of w.
func (r *Incidence) windowedSize(w int) (events, edges, pairs float64) {
	for u := range r.NumUsers() {
		d, at := int(r.Ptr[u+1]-r.Ptr[u]), 1
		if w > 0 && d > w {
			at += (d - w + w/2 - 1) / (w / 2)
			d = w
		}
		events, edges, pairs = events+float64(at*d), edges+float64(at), pairs+float64(at)*float64(d)*float64(d+1)/2
	}
	return events, edges, pairs
}
