package spectral

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/spectral/internal/dense"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// hypergraph is K = D_v^{-s/2} Rᵀ D_e^{-s} R D_v^{-s/2}, stored as R.
type hypergraph struct {
	r      *Incidence
	vScale []float64 // d_v^{-s/2}, 0 for an item without users
	eScale []float64 // d_e^{-s}, 0 for a user without items
}

func newHypergraph(s float64, r *Incidence) *hypergraph {
	g := &hypergraph{
		r: r, vScale: make([]float64, r.NumItems), eScale: make([]float64, r.NumUsers()),
	}
	for i, d := range r.Degrees() {
		if d > 0 {
			g.vScale[i] = math.Pow(float64(d), -s/2)
		}
	}
	for u := range g.eScale {
		if d := r.Ptr[u+1] - r.Ptr[u]; d > 0 {
			g.eScale[u] = math.Pow(float64(d), -s)
		}
	}
	return g
}

func (g *hypergraph) Dim() int { return g.r.NumItems }

func (g *hypergraph) normalisation() []float64 { return g.vScale }

func (g *hypergraph) single() eigen.Operator[float32] { return newHypergraphOp[float32](g) }
func (g *hypergraph) double() eigen.Operator[float64] { return newHypergraphOp[float64](g) }

// hypergraphOp multiplies by the K of a hypergraph. It uses a user's row of R twice while the row
// is in the cache: y = Σ z_i over the user's items i, then d_e^{-s}·y is added to each of these
// items. So neither Rᵀ nor a vector over the users is needed, and only the n×b numbers of the items
// are read and written out of order. Users are taken in groups that do not depend on the number of
// processors. Each group adds to a block of its own, and the blocks are added in order.
type hypergraphOp[T gemm.Float] struct {
	*hypergraph
	users   gemm.Sets // the items of each user
	weights []T       // d_e^{-s}
	groups  []int     // group g has the users groups[g] … groups[g+1]−1
	z       []T       // n×b scratch
	sums    []T       // n×b for each group
}

// Limits of the number of groups. Clearing and adding up their blocks is an overhead beside the
// products. Up to fewGroups it may be noticeable, because several processors need several groups.
// Beyond, up to maxGroups, it must be negligible.
const (
	maxGroups        = 16
	fewGroups        = 4
	minGroupPerItem  = 4       // interactions for each item in a group, up to fewGroups
	goodGroupPerItem = 64      // interactions for each item in a group, beyond fewGroups
	maxGroupElements = 1 << 29 // of all blocks
)

// groupCount returns the number of groups for a number of items and interactions.
func groupCount(items, events int) int {
	count := max(min(fewGroups, events/(minGroupPerItem*items)), events/(goodGroupPerItem*items))
	return max(1, min(count, maxGroups, maxGroupElements/(eigen.BlockSize*items)))
}

func newHypergraphOp[T gemm.Float](g *hypergraph) *hypergraphOp[T] {
	r := g.r
	count := groupCount(r.NumItems, len(r.Item))
	op := &hypergraphOp[T]{
		hypergraph: g, users: gemm.NewSets(r.Item, r.Ptr, r.NumItems),
		weights: make([]T, r.NumUsers()), groups: []int{0},
	}
	dense.Convert(op.weights, g.eScale)
	for u := range r.NumUsers() {
		if r.Ptr[u+1]*int64(count) >= int64(len(op.groups)*len(r.Item)) {
			op.groups = append(op.groups, u+1)
		}
	}
	op.groups[len(op.groups)-1] = r.NumUsers() // the users after the last group have no items
	return op
}

func (op *hypergraphOp[T]) Strip() int { return eigen.BlockSize }

func (op *hypergraphOp[T]) ApplyTo(dst, x []T, b int) {
	n, count := op.Dim(), len(op.groups)-1
	if len(op.z) != n*b {
		op.z, op.sums = make([]T, n*b), make([]T, count*n*b)
	}
	parallel.Rows(n, func(lo, hi int) { // z = D_v^{-s/2} x
		for i := lo; i < hi; i++ {
			dense.ScaleTo(op.z[i*b:(i+1)*b], T(op.vScale[i]), x[i*b:(i+1)*b])
		}
	})
	parallel.Strips(count, 1, func(g, _ int) { // the group's part of Rᵀ D_e^{-s} R z
		sums := op.sums[g*n*b : (g+1)*n*b]
		clear(sums)
		first, next := op.groups[g], op.groups[g+1]
		gemm.AddPairs(sums, op.z, b, op.users, first, op.weights[first:next])
	})
	parallel.Rows(n, func(lo, hi int) { // dst = D_v^{-s/2} times the sum over the groups
		copy(dst[lo*b:hi*b], op.sums[lo*b:hi*b])
		for g := 1; g < count; g++ {
			dense.AddScaled(dst[lo*b:hi*b], 1, op.sums[(g*n+lo)*b:(g*n+hi)*b])
		}
		for i := lo; i < hi; i++ {
			dense.ScaleTo(dst[i*b:(i+1)*b], T(op.vScale[i]), dst[i*b:(i+1)*b])
		}
	})
}
