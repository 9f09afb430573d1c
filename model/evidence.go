package model

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// Evidence gathers histories with new items, items that a model does not know, in order to place
// the new items in the basis of the model. It is not safe for concurrent use.
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
// Histories that are a sample give too long a row, see shrinkage.
//
// Three things are approximate:
//
//   - The basis does not turn towards the new items.
//   - The loop counts as at most κ_j/2, so that no coordinate more than doubles.
//   - In a hyperedge of the hypergraph, each other item without a row counts like the mean of the
//     items with rows. Together such items count at most as much as the items with rows.
type Evidence struct {
	m     *Model
	n     int32           // items of m
	ids   []string        // of the items to be placed
	items []itemEvidence  // one for each of them
	local *local.Arrivals // all new items; nil if m has no local term
	known []int32         // scratch: the known items of a hyperedge
	sum   []float64       // scratch: k
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

// MinNewUsers is the number of users that should have a new item before it gets a row. The history
// of a single user would make the item a neighbour of that user's items only.
const MinNewUsers = 2

// Limits that keep the length of a row finite.
const (
	maxLoop      = 0.5  // largest loop, in units of κ_j
	maxClosure   = 2    // largest factor for the sum over the known items of a hyperedge
	minRelativeK = 1e-3 // coordinates with κ_j/κ_1 below it are 0
)

// NewEvidence returns empty evidence for the new items with the given ids. In Add, new item i has
// the index m.Base().NumItems()+i. others are ids of new items that need no place, since they have
// one from other evidence; in Add, their indices follow. In the graph they count like items that
// are not known, and in the local term they are neighbours of the new items. A covariance graph of
// windows gives an error: it cannot be extended, because the model does not hold the number of
// windows of an item.
func (m *Model) NewEvidence(ids, others []string) (*Evidence, error) {
	m = m.Base()
	if m.spec.Graph == spectral.Covariance && m.spec.Window != 0 {
		return nil, errors.New("a covariance graph of windows cannot be extended by new items: " +
			"train with whole histories or with a hypergraph")
	}
	e := &Evidence{
		m: m, n: int32(m.n), ids: ids, items: make([]itemEvidence, len(ids)),
		sum: make([]float64, m.k),
	}
	if m.local != nil {
		e.local = local.NewArrivals(&m.spec.Local, m.degrees, ids, others)
	}
	for i := range e.items {
		e.items[i].sum = make([]float64, m.k)
		if m.spec.Graph == spectral.Covariance {
			e.items[i].common = map[int32]int64{}
		}
	}
	return e, nil
}

// Add takes in a user's history: item indices in the order of time, each at most once. A negative
// index stands for any other item. O(length·k) for each window with a new item.
func (e *Evidence) Add(history []int32) {
	for _, i := range history {
		if e.places(i) {
			e.items[i-e.n].users++
		}
	}
	if e.local != nil {
		e.local.Add(history)
	}
	for edge := range spectral.Windows(history, e.m.spec.Window) {
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
	weight := math.Pow(float64(len(edge)), -e.m.spec.DegreeExponent)
	energy := 0.0
	if e.m.spec.Graph == spectral.Hypergraph {
		e.sumKnown(weight * e.closure(len(edge)))
		energy = e.m.rowEnergy(e.sum)
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
		scale := weight * e.m.graphScale[i]
		for j, u := range row(e.m.basis, int(i), e.m.k) {
			e.sum[j] += scale * float64(u)
		}
	}
	copy(e.sum, e.m.rotation.back(e.sum))
}

// rowEnergy returns ‖Λ_K⁻¹ x‖², the squared length of the row Λ_K⁻¹ x.
func (m *Model) rowEnergy(x []float64) float64 {
	sum := 0.0
	for j, kappa := range m.kappa {
		if kappa >= minRelativeK*m.kappa[0] {
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
	all := e.m.rowEnergy(item.sum)
	if sample <= 1 || all == 0 {
		return 1
	}
	own := min(item.noise, all)
	return math.Sqrt((all - own + own/sample) / all)
}

// Place returns new item i with its row. users is the number of users of the item at the scale of
// the training, that is the expected number among NumTrainUsers users. It may differ from the
// number of added histories with the item; the histories then count as a sample.
//
// It is an error if no history with the item was added, if users is not above 0, or if the row is
// not finite.
func (e *Evidence) Place(i int, users float64) (NewItem, error) {
	item, id := &e.items[i], e.ids[i]
	if item.users == 0 || !(users > 0 && users < math.MaxInt64) {
		return NewItem{}, fmt.Errorf("new item %q has %d histories and %v users, want some of both",
			id, item.users, users)
	}
	out := NewItem{ID: id, Users: int64(max(1, math.Round(users)))}
	sample := users / float64(item.users)
	var sum []float64
	var loop float64
	if item.common != nil {
		sum, out.graphScale = e.covariances(item, users, sample)
	} else {
		scale := math.Pow(sample*float64(item.edges), -e.m.spec.DegreeExponent/2)
		out.graphScale = scale
		sum, loop = slices.Clone(item.sum), sample*scale*scale*item.loop
		length := sample * scale * e.shrinkage(item, sample)
		for j := range sum {
			sum[j] *= length
		}
	}
	for j, kappa := range e.m.kappa {
		if kappa < minRelativeK*e.m.kappa[0] {
			sum[j] = 0
			continue
		}
		sum[j] /= kappa - min(loop, maxLoop*kappa)
	}
	rotated := e.m.rotation.apply(sum)
	if slices.ContainsFunc(rotated, infinite) || infinite(out.graphScale) {
		return NewItem{}, fmt.Errorf("new item %q has a row that is not finite", id)
	}
	degree := min(out.Users, e.m.spec.TrainUsers)
	if e.local != nil {
		out.local = e.local.Place(i, degree, sample)
	}
	if !out.scaled(e.m, degree, rotated) {
		return NewItem{}, fmt.Errorf("new item %q has predictions that are not finite", id)
	}
	return out, nil
}

// scaled sets what a table holds of an item with this degree and row. It reports whether the
// numbers are finite.
func (item *NewItem) scaled(m *Model, degree int64, rotated []float64) bool {
	item.row = gemm.ToFloat32(rotated)
	item.encoderScale, item.decoderScale = Rescale(degree, m.spec.DegreeRescale)
	alone := &table{basis: item.row, ids: []string{item.ID},
		encoderScale: []float32{item.encoderScale}}
	item.predictions = m.transition.predict(alone, [][]float64{rotated})
	return !slices.ContainsFunc(item.predictions, sealed.NotFinite)
}

// covariances returns Uᵀ k_new of the covariance graph and D^{−1/2} of the new item. Like
// spectral's covarianceOp it works in counts of users.
func (e *Evidence) covariances(
	item *itemEvidence, users, sample float64,
) (sum []float64, scale float64) {
	m := e.m
	population := float64(m.spec.TrainUsers)
	clear(e.sum)
	total := 0.0
	// In order, so that the sum has the same bits every time.
	for _, j := range slices.Sorted(maps.Keys(item.common)) {
		a := float64(item.common[j])*sample*population - users*float64(m.degrees[j])
		if a <= 0 {
			continue
		}
		total += a
		for l, u := range row(m.basis, int(j), m.k) {
			e.sum[l] += a * m.graphScale[j] * float64(u)
		}
	}
	if total == 0 {
		total = 1
	}
	scale = 1 / math.Sqrt(total)
	sum = m.rotation.back(e.sum)
	for l := range sum {
		sum[l] *= scale
	}
	return sum, scale
}
