// Package nystrom places new items in the basis of a model: it finds their rows from histories with
// them.
//
// An eigenvector satisfies κ u = K u, row by row. So the row of a new item follows from the rows of
// its neighbours. This is the out-of-sample form of Nyström's method (Y. Bengio et al.,
// "Out-of-Sample Extensions for LLE, Isomap, MDS, Eigenmaps, and Spectral Clustering", NIPS 2003):
//
//	(κ_j − k_new,new) u_new,j = Σ_{i known} k_new,i u_ij
//
// K is the matrix of the graph with the new item in it. Without the loop k_new,new the row would be
// u_new = Λ_K⁻¹ Uᵀ k_new. If the row of a known item is deleted from a basis, placing the item
// gives exactly the deleted row.
//
// Histories that are a sample give too long a row, see shrinkage, or join where a row was expected.
//
// Three things are approximate:
//
//   - The basis does not turn towards the new items.
//   - The loop counts as at most κ_j/2, so that no coordinate more than doubles.
//   - In a hyperedge of the hypergraph, each other item without a row counts like the mean of the
//     items with rows. Together such items count at most as much as the items with rows.
package nystrom

import (
	"maps"
	"math"
	"slices"

	"github.com/gsimc/gsimc/spectral"
)

// Basis is what a model knows of its graph and its n items.
type Basis struct {
	Graph  spectral.Graph
	Window int   // of the graph
	Users  int64 // of the training

	K           int
	Rows        []float32                 // n×K, rotated
	Scale       []float64                 // n, the diagonal by which K is normalised
	Degrees     []int64                   // n
	Kappa       []float64                 // K, the eigenvalues
	Apply, Back func([]float64) []float64 // rotate a row, and undo it
}

// Evidence gathers histories with new items. It is not safe for concurrent use.
type Evidence struct {
	b     *Basis
	n     int32          // items of b
	items []itemEvidence // one for each new item
	known []int32        // scratch: the known items of a hyperedge
	sum   []float64      // scratch: K
}

// itemEvidence is the evidence for one new item. Sums run over the hyperedges e with the item.
type itemEvidence struct {
	users, edges int64 // histories and hyperedges with the item

	// Hypergraph. x_e = d_e^{−s} Σ_{i∈e} g_i u_i over the known items i of e, with g the
	// graphScale.
	loop  float64   // Σ_e d_e^{−s}
	sum   []float64 // k, Σ_e x_e
	noise float64   // Σ_e ‖Λ_K⁻¹ x_e‖²

	// Covariance graph.
	common map[int32]int64 // by known item: users that have both items
}

// Limits that keep the length of a row finite.
const (
	maxLoop      = 0.5  // largest loop, in units of κ_j
	maxClosure   = 2    // largest factor for the sum over the known items of a hyperedge
	minRelativeK = 1e-3 // coordinates with κ_j/κ_1 below it are 0
)

// New returns empty evidence for a number of new items. In Add, new item i has the index n+i.
func New(b *Basis, items int) *Evidence {
	e := &Evidence{
		b: b, n: int32(len(b.Degrees)), items: make([]itemEvidence, items),
		sum: make([]float64, b.K),
	}
	for i := range e.items {
		e.items[i].sum = make([]float64, b.K)
		if b.Graph.Kind == spectral.Covariance {
			e.items[i].common = map[int32]int64{}
		}
	}
	return e
}

// Users is the number of histories with new item i.
func (e *Evidence) Users(i int) int64 { return e.items[i].users }

// Add takes in a user's history: item indices in the order of time, each at most once. Others than
// those of b and the new ones stand for any other item. O(length·K) for each window with a new one.
func (e *Evidence) Add(history []int32) {
	for _, i := range history {
		if e.places(i) {
			e.items[i-e.n].users++
		}
	}
	for edge := range spectral.Windows(history, e.b.Window) {
		e.addEdge(edge)
	}
}

// places reports whether item i is to be placed.
func (e *Evidence) places(i int32) bool { return i >= e.n && int(i-e.n) < len(e.items) }

func (e *Evidence) addEdge(edge []int32) {
	e.known = e.known[:0]
	fresh := false
	for _, i := range edge {
		fresh = fresh || e.places(i)
		if i >= 0 && i < e.n {
			e.known = append(e.known, i)
		}
	}
	if !fresh {
		return
	}
	weight := math.Pow(float64(len(edge)), -e.b.Graph.DegreeExponent)
	energy := 0.0
	if e.b.Graph.Kind == spectral.Hypergraph {
		e.sumKnown(weight * e.closure(len(edge)))
		energy = e.b.rowEnergy(e.sum)
	}
	for _, i := range edge {
		if !e.places(i) {
			continue
		}
		item := &e.items[i-e.n]
		item.edges++
		if item.common != nil {
			for _, j := range e.known {
				item.common[j]++
			}
			continue
		}
		item.loop += weight
		item.noise += energy
		for j, x := range e.sum {
			item.sum[j] += x
		}
	}
}

// closure returns the factor that scales a sum over the known items of a hyperedge to all its items
// but one. It is at most maxClosure, and 0 without known items.
func (e *Evidence) closure(size int) float64 {
	if len(e.known) == 0 {
		return 0
	}
	return min(float64(size-1)/float64(len(e.known)), maxClosure)
}

// sumKnown sets e.sum to weight · Σ_i g_i u_i over the known items i, with g the graphScale.
func (e *Evidence) sumKnown(weight float64) {
	clear(e.sum)
	for _, i := range e.known {
		scale := weight * e.b.Scale[i]
		for j, u := range e.b.row(i) {
			e.sum[j] += scale * float64(u)
		}
	}
	copy(e.sum, e.b.Back(e.sum))
}

// rowEnergy returns ‖Λ_K⁻¹ x‖², the squared length of the row Λ_K⁻¹ x.
func (b *Basis) rowEnergy(x []float64) float64 {
	sum := 0.0
	for j, kappa := range b.Kappa {
		if kappa >= minRelativeK*b.Kappa[0] {
			sum += x[j] / kappa * x[j] / kappa
		}
	}
	return sum
}

// shrinkage returns the factor for the length of a row that follows from a sample of histories,
// with sample = r, the size of the population in units of the sample. Each x_e has a part that the
// users of the item have in common and a part of the user's own. Common parts add up, and of own
// parts the squared lengths add up. So in a row that is scaled from the sample to the population,
// the squared length of the own parts is r times too large:
//
//	‖Σ x_e‖² = common + own,   own = Σ ‖x_e‖²;   wanted: common + own/r
//
// The factor is 1 for r ≤ 1.
func (e *Evidence) shrinkage(item *itemEvidence, sample float64) float64 {
	all := e.b.rowEnergy(item.sum)
	if sample <= 1 || all == 0 {
		return 1
	}
	own := min(item.noise, all)
	return math.Sqrt((all - own + own/sample) / all)
}

// Row returns the row of new item i, rotated, and what b.Scale is for others. users is the number
// of users of the item among b.Users. expected is what the row was taken for before there were
// users, rotated, see join; nil: nothing. part is that of the row which is left, see orthonormal.
func (e *Evidence) Row(
	i int, users float64, expected []float32,
) (rotated []float64, scale, part float64) {
	item := &e.items[i]
	sample := users / float64(item.users)
	var sum []float64
	var loop float64
	if item.common != nil {
		sum, scale = e.covariances(item, users, sample)
	} else {
		scale = math.Pow(sample*float64(item.edges), -e.b.Graph.DegreeExponent/2)
		sum, loop = slices.Clone(item.sum), sample*scale*scale*item.loop
		length := sample * scale
		if expected == nil { // what users have of their own counts less by join
			length *= e.shrinkage(item, sample)
		}
		for j := range sum {
			sum[j] *= length
		}
	}
	for j, kappa := range e.b.Kappa {
		if kappa < minRelativeK*e.b.Kappa[0] {
			sum[j] = 0
			continue
		}
		sum[j] /= kappa - min(loop, maxLoop*kappa)
	}
	if expected != nil {
		e.b.join(sum, expected, float64(item.users))
	}
	rotated = e.b.Apply(sum)
	return rotated, scale, orthonormal(rotated, sample)
}

// orthonormal shortens a row to what is left of it in a basis with orthonormal columns, and returns
// the part that is left. With another row w the Gram matrix of a basis is I + wwᵀ, and the nearest
// orthonormal one (P.-O. Löwdin, 1950) has the row
//
//	(I + wwᵀ)^−½ w = w/√(1 + ‖w‖²)
//
// which is shorter than 1, as all rows are. The users of a new item are those of its first days.
// They have taken beside it what everybody takes now, and r times that is more than a training has
// of anything. ‖w‖² is that of the sample: at r ≤ 1 the row is that of a training.
func orthonormal(row []float64, sample float64) (part float64) {
	square := 0.0
	for _, w := range row {
		square += float64(w * w)
	}
	part = 1 / math.Sqrt(1+float64(square*(1-1/max(sample, 1))))
	for j := range row {
		row[j] *= part
	}
	return part
}

// doubt is the constant of join, chosen on new items of three data sets.
const doubt = 0.3

// join takes what was expected into a row by m users:
//
//	(c_j expected_j + m row_j)/(c_j + m),    c_j = doubt (κ_1/κ_j − 1)²
//
// That is a posterior mean, in which the prior counts like c_j users. In a hypergraph with s = 1,
// κ_1 is 1 and κ_j the part of the variance of coordinate j that lies between items, so that
// κ_1/κ_j − 1 is the variance between the users of an item in units of that between items. The
// square leaves coordinates that vary fast to the prior for longer.
func (b *Basis) join(row []float64, expected []float32, users float64) {
	prior := make([]float64, len(expected))
	for l, x := range expected {
		prior[l] = float64(x)
	}
	for j, x := range b.Back(prior) {
		within := b.Kappa[0]/b.Kappa[j] - 1
		part := users / (users + float64(doubt*within*within))
		row[j] = float64(part*row[j]) + float64((1-part)*x)
	}
}

// covariances returns Uᵀ k_new of the covariance graph and D^{−1/2} of the new item. Like
// spectral's covarianceOp it works in counts of users.
func (e *Evidence) covariances(
	item *itemEvidence, users, sample float64,
) (sum []float64, scale float64) {
	b := e.b
	population := float64(b.Users)
	clear(e.sum)
	total := 0.0
	// In order, so that the sum has the same bits every time.
	for _, j := range slices.Sorted(maps.Keys(item.common)) {
		a := float64(item.common[j])*sample*population - users*float64(b.Degrees[j])
		if a <= 0 {
			continue
		}
		total += a
		for l, u := range b.row(j) {
			e.sum[l] += a * b.Scale[j] * float64(u)
		}
	}
	if total == 0 {
		total = 1
	}
	scale = 1 / math.Sqrt(total)
	sum = b.Back(e.sum)
	for l := range sum {
		sum[l] *= scale
	}
	return sum, scale
}

// row returns row i of Rows.
func (b *Basis) row(i int32) []float32 { return b.Rows[int(i)*b.K : (int(i)+1)*b.K] }
