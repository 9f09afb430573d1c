package spectral

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// pieces are the connected components of a graph whose K has the eigenvalue 1 once for each of them, with the eigenvector
// D^{1/2} 1_C: the hypergraph with s = 1 and the covariance graph, by the theorem of Perron and Frobenius. A block Krylov
// space sees as many copies of an eigenvalue as the block has columns, so a graph in many pieces needs these put in.
type pieces struct {
	of    []int32   // the piece of each item, the one with the most items being 0; −1 for an item without neighbours and loop
	root  []float64 // D^{1/2}, normalised in each piece
	count int
}

// solvePieces is solveKrylov with the eigenvectors of all pieces but the largest written down instead of searched.
func solvePieces(op operator, opt Options) (*Basis, error) {
	if opt.Graph.scaled() { // the pieces have different eigenvalues, as a rule
		return solveKrylov(op, opt)
	}
	p := findPieces(op)
	if p.count < 2 {
		return solveKrylov(op, opt)
	}
	n, k := op.dim(), opt.Rank
	out := &Basis{N: n, K: k, U: make([]float64, n*k), Kappa: make([]float64, k)}
	known := min(k, p.count)
	for c := range known {
		out.Kappa[c] = 1
	}
	p.copyTo(out.matrix(), known)
	if known == k {
		out.Report = Report{Solver: "components"}
		return out, nil
	}
	opt.Rank = k - known + 1
	// The largest piece stays, so that the scale of K does. The others are moved to the lower end of the spectrum.
	rest, err := solveKrylov(&withoutPieces{operator: op, p: p, shift: 1 - opt.Graph.lowest()}, opt)
	if err != nil {
		return nil, err
	}
	p.projectOut(rest.matrix())
	copyGeneral(columns(out.matrix(), 0, 1), columns(rest.matrix(), 0, 1)) // no worse than the known one, and orthogonal to the others
	copyGeneral(columns(out.matrix(), known, k), columns(rest.matrix(), 1, rest.K))
	for j, kappa := range rest.Kappa[1:] {
		out.Kappa[known+j] = min(kappa, 1)
	}
	out.Report = rest.Report
	return out, nil
}

// lowest is a lower bound of the eigenvalues of K if it has no eigenvalue above 1.
func (g Graph) lowest() float64 {
	if g.positive() {
		return 0
	}
	return -1
}

// findPieces finds the components of a graph that is not scaled.
func findPieces(op operator) *pieces {
	n := op.dim()
	sets := newDisjointSets(n)
	var scale []float64 // D^{-1/2}
	linked := make([]bool, n)
	switch op := op.(type) {
	case *hypergraphOp:
		scale = op.vScale
		for u := range op.r.NumUsers() {
			items := op.r.Item[op.r.Ptr[u]:op.r.Ptr[u+1]]
			for _, i := range items {
				sets.join(items[0], i)
				linked[i] = true
			}
		}
	case *covarianceOp:
		scale = op.scale
		for i := range n {
			for _, j := range op.col[op.ptr[i]:op.ptr[i+1]] {
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
func (p *pieces) copyTo(u blas64.General, count int) {
	for i, c := range p.of {
		if c >= 0 && int(c) < count {
			row(u, i)[c] = p.root[i]
		}
	}
}

// products returns Xᵀ x for the eigenvectors X of all pieces but the largest; x is n×b. Row 0 is 0.
func (p *pieces) products(x []float64, b int) []float64 {
	sum := make([]float64, p.count*b)
	for i, c := range p.of {
		if c > 0 {
			floats.AddScaled(sum[int(c)*b:(int(c)+1)*b], p.root[i], x[i*b:(i+1)*b])
		}
	}
	return sum
}

// subtract sets dst −= shift·X·sum.
func (p *pieces) subtract(dst, sum []float64, shift float64, b int) {
	for i, c := range p.of {
		if c > 0 {
			floats.AddScaled(dst[i*b:(i+1)*b], -shift*p.root[i], sum[int(c)*b:(int(c)+1)*b])
		}
	}
}

// projectOut makes the columns of u orthogonal to X. What a converged eigenvector has along X is of the order of its
// residual, so its length stays 1.
func (p *pieces) projectOut(u blas64.General) {
	p.subtract(u.Data, p.products(u.Data, u.Cols), 1, u.Cols)
}

// withoutPieces is K − shift·XXᵀ: the eigenvalue 1 of all pieces but the largest becomes 1 − shift.
type withoutPieces struct {
	operator
	p     *pieces
	shift float64
}

func (w *withoutPieces) applyTo(dst, x []float64, b int) {
	w.operator.applyTo(dst, x, b)
	w.p.subtract(dst, w.p.products(x, b), w.shift, b)
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

// bySize numbers the sets of the linked members by falling size, ties by their first member; −1 for what is not linked.
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
	slices.SortFunc(roots, func(a, b int32) int { return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b)) })
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
