package spectral

import (
	"cmp"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/spectral/internal/dense"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// pieces are the connected components of a graph whose K has the eigenvalue 1 once for each of
// them, with the eigenvector D^{1/2} 1_C: the hypergraph with s = 1 and the covariance graph, by
// the theorem of Perron and Frobenius. A block Krylov space contains at most as many copies of an
// eigenvalue as the block has columns. In a graph of many pieces these eigenvectors are therefore
// written down.
type pieces struct {
	of    []int32   // the piece of each item, by falling size from 0 on; −1 for an isolated item
	root  []float64 // D^{1/2}, normalised in each piece
	count int
}

// solvePieces is solveKrylov, but the eigenvectors of all pieces except the largest are written
// down instead of searched.
func solvePieces(g itemGraph, opt Options) (*Basis, error) {
	if opt.Graph.scaled() { // the pieces have different eigenvalues, as a rule
		return solveKrylov(newAffinity(g, opt), opt.Rank, opt)
	}
	p, a := findPieces(g), newAffinity(g, opt)
	if p.count < 2 {
		return solveKrylov(a, opt.Rank, opt)
	}
	n, k := g.Dim(), opt.Rank
	out := &Basis{N: n, K: k, U: make([]float64, n*k), Kappa: make([]float64, k)}
	known := min(k, p.count)
	for c := range known {
		out.Kappa[c] = 1
	}
	p.copyTo(out.matrix(), known)
	if known == k {
		out.Report = Report{Solver: "components"}
		out.Report.Residual = out.residual(a.double)
		return out, nil
	}
	// The largest piece stays and keeps the scale of K. The eigenvalues of the others are moved to
	// the lower end of the spectrum.
	rest, err := solveKrylov(a.without(p, 1-opt.Graph.lowest()), k-known+1, opt)
	if err != nil {
		return nil, err
	}
	p.projectOut(rest.matrix())
	dense.Copy(dense.Columns(out.matrix(), known, k), dense.Columns(rest.matrix(), 1, rest.K))
	for j, kappa := range rest.Kappa[1:] {
		out.Kappa[known+j] = min(kappa, 1)
	}
	out.Report = rest.Report
	out.Report.Residual = out.residual(a.double)
	return out, nil
}

// findPieces finds the components of a graph that is not scaled.
func findPieces(g itemGraph) *pieces {
	n := g.Dim()
	sets := newDisjointSets(n)
	var scale []float64 // D^{-1/2}
	linked := make([]bool, n)
	switch g := g.(type) {
	case *hypergraph:
		scale = g.vScale
		for u := range g.r.NumUsers() {
			items := g.r.Item[g.r.Ptr[u]:g.r.Ptr[u+1]]
			for _, i := range items {
				sets.join(items[0], i)
				linked[i] = true
			}
		}
	case *covarianceGraph:
		scale = g.scale
		for i := range n {
			for _, j := range g.col[g.ptr[i]:g.ptr[i+1]] {
				sets.join(int32(i), j)
				linked[i] = true
			}
		}
	}
	p := &pieces{of: sets.bySize(linked), root: make([]float64, n)}
	for i, c := range p.of {
		if c >= 0 {
			p.root[i] = 1 / scale[i]
			p.count = max(p.count, int(c)+1)
		}
	}
	p.normalise()
	return p
}

// normalise gives each piece of root the length 1.
func (p *pieces) normalise() {
	squares := make([]float64, p.count)
	for i, c := range p.of {
		if c >= 0 {
			squares[c] += p.root[i] * p.root[i]
		}
	}
	for i, c := range p.of {
		if c >= 0 {
			p.root[i] /= math.Sqrt(squares[c])
		}
	}
}

// copyTo sets the first count columns of u, which are 0, to the eigenvectors of the largest pieces.
func (p *pieces) copyTo(u dense.Matrix[float64], count int) {
	for i, c := range p.of {
		if c >= 0 && int(c) < count {
			dense.Row(u, i)[c] = p.root[i]
		}
	}
}

// productsWith returns Xᵀ x for the eigenvectors X of the pieces from first on; x is n×b. The rows
// before are 0.
func productsWith[T gemm.Float](p *pieces, first int, x []T, b int) []T {
	sum := make([]T, p.count*b)
	for i, c := range p.of {
		if int(c) >= first {
			dense.AddScaled(sum[int(c)*b:(int(c)+1)*b], T(p.root[i]), x[i*b:(i+1)*b])
		}
	}
	return sum
}

// subtractFrom sets dst −= shift·X·sum, with X as in productsWith.
func subtractFrom[T gemm.Float](dst []T, p *pieces, first int, sum []T, shift float64, b int) {
	for i, c := range p.of {
		if int(c) >= first {
			dense.AddScaled(dst[i*b:(i+1)*b], T(-shift*p.root[i]), sum[int(c)*b:(int(c)+1)*b])
		}
	}
}

// projectOut makes the columns of u orthogonal to the eigenvectors X of all pieces. The component
// of a converged eigenvector along X is of the order of its residual, so its length stays 1.
func (p *pieces) projectOut(u dense.Matrix[float64]) {
	subtractFrom(u.Data, p, 0, productsWith(p, 0, u.Data, u.Cols), 1, u.Cols)
}

// withoutPieces is K − shift·XXᵀ: the eigenvalue 1 of all pieces but the largest becomes 1 − shift.
type withoutPieces[T gemm.Float] struct {
	eigen.Operator[T]
	p     *pieces
	shift float64
}

func (w *withoutPieces[T]) ApplyTo(dst, x []T, b int) {
	w.Operator.ApplyTo(dst, x, b)
	subtractFrom(dst, w.p, 1, productsWith(w.p, 1, x, b), w.shift, b)
}

// disjointSets is union-find with path halving.
type disjointSets struct{ parent []int32 }

func newDisjointSets(n int) *disjointSets {
	s := &disjointSets{parent: make([]int32, n)}
	for i := range s.parent {
		s.parent[i] = int32(i)
	}
	return s
}

func (s *disjointSets) find(i int32) int32 {
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

// join makes the smaller index the root, so that a set is known by its first member.
func (s *disjointSets) join(i, j int32) {
	i, j = s.find(i), s.find(j)
	s.parent[max(i, j)] = min(i, j)
}

// bySize numbers the sets of the linked members by falling size, ties by their first member; −1 for
// members without a link.
func (s *disjointSets) bySize(linked []bool) []int32 {
	size := make([]int32, len(s.parent))
	var roots []int32
	for i := range s.parent {
		if !linked[i] {
			continue
		}
		r := s.find(int32(i))
		if size[r] == 0 {
			roots = append(roots, r)
		}
		size[r]++
	}
	slices.SortFunc(roots, func(a, b int32) int {
		return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b))
	})
	number := size // not needed any more
	for c, r := range roots {
		number[r] = int32(c)
	}
	of := make([]int32, len(s.parent))
	for i := range of {
		of[i] = -1
		if linked[i] {
			of[i] = number[s.find(int32(i))]
		}
	}
	return of
}
