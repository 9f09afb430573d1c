package spectral

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/spectral/internal/dense"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// Forms of the Nyström solver.
const (
	// NystromPaper is Algorithm 1 of the paper: eigenvectors of the sampled block, extended to all
	// items. Its columns are not orthogonal.
	NystromPaper = "paper"
	// NystromOrthonormal makes the extension orthonormal (C. Fowlkes et al., "Spectral Grouping
	// Using the Nyström Method", IEEE PAMI 26, 2004), after Refine further products with K.
	NystromOrthonormal = "orthonormal"
)

// NystromOptions are the options of the sampled solver. Zero values mean the defaults.
type NystromOptions struct {
	Form       string // NystromPaper or NystromOrthonormal, the default
	Landmarks  int    // l, sampled items; default max(2000, 2k), or all if there are fewer
	Oversample int    // p, extra vectors beside the k wanted; default 10 + k/10
	Power      int    // q, power iterations on the sampled block; default 2

	// Refine is the number of products with all of K that the orthonormal form adds after the
	// extension: default 3, negative for none. A sample of a sparse graph sees few of its edges, so
	// its eigenvectors alone are poor.
	Refine int
}

func (o NystromOptions) withDefaults(k, n int) NystromOptions {
	if o.Form == "" {
		o.Form = NystromOrthonormal
	}
	if o.Landmarks == 0 {
		o.Landmarks = min(n, max(2000, 2*k))
	}
	if o.Oversample == 0 {
		o.Oversample = 10 + k/10
	}
	o.Oversample = min(o.Oversample, o.Landmarks-k)
	if o.Power == 0 {
		o.Power = 2
	}
	if o.Refine == 0 {
		o.Refine = 3
	}
	return o
}

// validate returns the first fault. Its field names Form, Power and Oversample with Nystrom in
// front, because other options have similar names.
func (o NystromOptions) validate(k, n int) error {
	if o.Form != "" && o.Form != NystromPaper && o.Form != NystromOrthonormal {
		return fault.New("NystromForm", fmt.Sprintf("%q", o.Form),
			NystromPaper+" or "+NystromOrthonormal)
	}
	for _, c := range []struct {
		field string
		value int
	}{{"Landmarks", o.Landmarks}, {"Nystrom.Oversample", o.Oversample},
		{"Nystrom.Power", o.Power}} {
		if c.value < 0 {
			return fault.New(c.field, c.value, "at least 0")
		}
	}
	if l := o.withDefaults(k, n).Landmarks; l < k || l > n {
		return &fault.Fault{
			Field: "Landmarks", Got: l,
			Problem: fmt.Sprintf("does not fit rank %d and %d items", k, n),
			Want:    fmt.Sprintf("%d to %d", k, n),
		}
	}
	return nil
}

// solveNystrom approximates the leading eigenpairs from the columns C of l items, sampled with a
// probability proportional to their degree. (Algorithm 1 of the paper samples uniformly; popular
// items see more of the graph.) With E the n×l selection matrix, C = K E and A = Eᵀ K E. Products
// with both are products of K with blocks that vanish outside of the sample, so neither is formed.
// Eigenvalues are Rayleigh quotients with K itself; the paper's (n/l)·λ(A) holds for uniform
// samples only.
func solveNystrom(op eigen.Operator[float64], degrees []int64, opt Options) (*Basis, error) {
	k, n := opt.Rank, op.Dim()
	o := opt.Nystrom.withDefaults(k, n)
	rng := rand.New(rand.NewPCG(opt.Seed, 0x6e797374))
	landmarks := sampleByWeight(degrees, o.Landmarks, rng)
	counted := &eigen.Counting[float64]{Operator: op}
	// Products with K lift both ends of its spectrum, which reaches down to −1 in a covariance
	// graph. There the iteration is with K + I/2: negative eigenvalues are then below 1/2 in
	// magnitude, and positive ones above.
	lift := eigen.Operator[float64](counted)
	if !opt.Graph.positive() {
		lift = shiftedOp{counted, 0.5}
	}
	ua, lambda, err := sampledEigen(lift, landmarks, k+o.Oversample, o.Power, rng)
	if err != nil {
		return nil, err
	}
	rank := k + o.Oversample
	if opt.Graph.positive() {
		rank = numericalRank(lambda)
	}
	y := dense.New[float64](n, rank)
	scatterRows(y, dense.Columns(ua, 0, rank), landmarks)
	u := dense.New[float64](n, rank)
	eigen.MultiplyTo(u, lift, y) // C U_A: the extension to all items
	var kappa []float64
	if o.Form == NystromPaper {
		kappa = rayleighQuotients(counted, u)
	} else {
		for range o.Refine {
			u, y = y, u
			eigen.MultiplyTo(u, lift, y)
		}
		if kappa, _, err = eigen.RayleighRitz(counted, u); err != nil {
			return nil, err
		}
	}
	b := &Basis{N: n, K: rank, U: u.Data, Kappa: kappa}
	b.Report = Report{Solver: "nystrom-" + o.Form, Passes: counted.Vectors}
	b.truncate(min(k, rank))
	b.Report.Residual = b.residual(op)
	return b, nil
}

// shiftedOp is K + shift·I.
type shiftedOp struct {
	eigen.Operator[float64]
	shift float64
}

func (s shiftedOp) ApplyTo(dst, x []float64, b int) {
	s.Operator.ApplyTo(dst, x, b)
	floats.AddScaled(dst, s.shift, x)
}

// rayleighQuotients normalises the columns of u, sorts them by κ = uᵀKu in descending order and
// returns κ.
func rayleighQuotients(op eigen.Operator[float64], u dense.Matrix[float64]) []float64 {
	norms := dense.ColumnNorms(u)
	dense.ScaleColumns(u, func(j int) float64 {
		return 1 / max(norms[j], math.SmallestNonzeroFloat64)
	})
	ku := dense.New[float64](u.Rows, u.Cols)
	eigen.MultiplyTo(ku, op, u)
	kappa := make([]float64, u.Cols)
	for i := range u.Rows {
		for j, x := range dense.Row(u, i) {
			kappa[j] += x * ku.Data[i*ku.Stride+j]
		}
	}
	order := make([]int, u.Cols)
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(kappa[b], kappa[a]) })
	sorted := make([]float64, u.Cols)
	for i := range u.Rows {
		from, to := dense.Row(u, i), dense.Row(ku, i) // ku is free now
		for j, c := range order {
			to[j] = from[c]
		}
		copy(from, to)
	}
	for j, c := range order {
		sorted[j] = kappa[c]
	}
	return sorted
}

// sampledEigen returns the leading count approximate eigenvectors (l×count) and eigenvalues of
// A = Eᵀ K E by randomised subspace iteration from a Gaussian Ω. The small matrix is Z = QᵀAQ. The
// paper's Z QᵀΩ = QᵀAΩ is the same up to the part that A maps out of the span of Q, and saves one
// product.
func sampledEigen(
	op eigen.Operator[float64], landmarks []int32, count, power int, rng *rand.Rand,
) (u dense.Matrix[float64], lambda []float64, err error) {
	n, l := op.Dim(), len(landmarks)
	q := dense.New[float64](l, count)
	for i := range q.Data {
		q.Data[i] = rng.NormFloat64()
	}
	x, kx := dense.New[float64](n, count), dense.New[float64](n, count)
	multiply := func() { // kx = K E q
		clear(x.Data)
		scatterRows(x, q, landmarks)
		eigen.MultiplyTo(kx, op, x)
	}
	for range power {
		if err := eigen.Orthonormalise(q); err != nil {
			return u, nil, err
		}
		multiply()
		gatherRows(q, kx, landmarks)
	}
	if err := eigen.Orthonormalise(q); err != nil {
		return u, nil, err
	}
	multiply()
	aq := dense.New[float64](l, count)
	gatherRows(aq, kx, landmarks)
	z := dense.New[float64](count, count)
	dense.TransMul(z, q, aq)
	lambda, s, err := eigen.Symmetric(z)
	if err != nil {
		return u, nil, err
	}
	dense.RotateColumns(q, count, s)
	return q, lambda, nil
}

// scatterRows sets the rows idx of dst to the rows of src.
func scatterRows(dst, src dense.Matrix[float64], idx []int32) {
	for r, i := range idx {
		copy(dense.Row(dst, int(i)), dense.Row(src, r))
	}
}

// gatherRows sets the rows of dst to the rows idx of src.
func gatherRows(dst, src dense.Matrix[float64], idx []int32) {
	for r, i := range idx {
		copy(dense.Row(dst, r), dense.Row(src, int(i)))
	}
}

// sampleByWeight draws count of the items without replacement, item i with probability proportional
// to weight[i], and returns them in rising order (A. Efraimidis, P. Spirakis, "Weighted random
// sampling with a reservoir", 2006: the smallest keys E_i/w_i, E_i exponential).
func sampleByWeight(weight []int64, count int, rng *rand.Rand) []int32 {
	type keyed struct {
		key  float64
		item int32
	}
	keys := make([]keyed, len(weight))
	for i, w := range weight {
		keys[i] = keyed{rng.ExpFloat64() / max(float64(w), 1e-9), int32(i)}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.item, b.item))
	})
	items := make([]int32, count)
	for i := range items {
		items[i] = keys[i].item
	}
	slices.Sort(items)
	return items
}
