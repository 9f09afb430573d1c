package spectral

import (
	"github.com/gsimc/gsimc/internal/cost"
)

// What the iteration does is only known when it is done. These are typical.
const (
	typicalDegree  = 7 // products with K for each vector that is kept
	eigenWork      = 9 // operations for each m³ of an eigenproblem of size m,
	eigenSlowdown  = 4 // which run slower than products
	sparseSlowdown = 2 // of products with R, whose rows are of all sizes
)

// Cost is what [Solve] takes for the graph of r, by its shape. The basis is kept.
func Cost(r *Incidence, opt Options) []cost.Stage {
	n, k := float64(r.NumItems), float64(opt.Rank)
	events, users := r.windowedSize(opt.Graph.Window)
	m := float64(columnLimit(opt.Rank))
	if r.NumItems <= denseMax || !lanczosFits(r.NumItems, opt.Rank) {
		m = n
	}

	copies := 4 * events // of the transposed matrix
	if opt.Graph.Window > 0 {
		copies += 4*events + 8*users
	}
	var products, iteration cost.Work
	rows := events * typicalDegree * m / stripColumns
	products[cost.Gather] = sparseSlowdown * 2 * rows * stripColumns * 8 / 128
	iteration[cost.Double] = 2*n*m*m + eigenSlowdown*eigenWork*m*m*m + 4*n*m*k + 6*n*k*k
	iteration[cost.Stream] = 6 * 8 * n * m * typicalDegree
	basis := 8 * n * k
	space := 8*n*m + 3*8*m*m
	scratch := 8 * stripColumns * (users + 4*n)
	return []cost.Stage{
		{Name: "graph", Peak: copies + 8*(users+n), Kept: copies + 8*(users+n)},
		{Name: "eigenvectors: products", Work: products, Peak: space + scratch, Kept: space + scratch},
		{Name: "eigenvectors: iteration", Work: iteration, Peak: 2 * basis, Kept: basis - space - scratch - copies - 8*(users+n)},
	}
}

// windowedSize is the number of interactions and of hyperedges after cutting histories into windows of w.
func (r *Incidence) windowedSize(w int) (events, edges float64) {
	for u := range r.NumUsers() {
		d, at := int(r.Ptr[u+1]-r.Ptr[u]), 1
		if w > 0 && d > w {
			at += (d - w + w/2 - 1) / (w / 2)
			d = at * w
		}
		events, edges = events+float64(d), edges+float64(at)
	}
	return events, edges
}
