package spectral

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Forms of the Nyström solver.
const (
	// NystromPaper is Algorithm 1 of the paper: eigenvectors of the sampled
	// block, extended to all items. Its columns are not orthogonal.
	NystromPaper = "paper"
	// NystromOrthonormal makes the extension orthonormal (C. Fowlkes et al.,
	// "Spectral Grouping Using the Nyström Method", IEEE PAMI 26, 2004), after
	// Refine further products with K.
	NystromOrthonormal = "orthonormal"
)

// NystromOptions of the sampled solver. Zero values mean the defaults.
type NystromOptions struct {
	Form       string // NystromPaper or NystromOrthonormal, the default
	Landmarks  int    // l, sampled items; default max(2000, 2k), or all if there are fewer
	Oversample int    // p, extra vectors beside the k wanted; default 10 + k/10
	Power      int    // q, power iterations on the sampled block; default 2

	// Refine is the number of products with all of K that the orthonormal form
	// adds after the extension: default 3, negative for none. A sample of a
	// sparse graph sees few of its edges, so its eigenvectors alone are poor.
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

func (o NystromOptions) validate(k, n int) error {
	if o.Form != "" && o.Form != NystromPaper && o.Form != NystromOrthonormal {
		return fmt.Errorf("unknown nystrom form %q, want %s or %s", o.Form, NystromPaper, NystromOrthonormal)
	}
	if o.Landmarks < 0 || o.Oversample < 0 || o.Power < 0 {
		return fmt.Errorf("nystrom: landmarks %d, oversampling %d and power %d must not be negative", o.Landmarks, o.Oversample, o.Power)
	}
	if l := o.withDefaults(k, n).Landmarks; l < k || l > n {
		return fmt.Errorf("nystrom: %d landmarks for rank %d and %d items: want at least the rank and at most the items", l, k, n)
	}
	return nil
}

// solveNystrom approximates the leading eigenpairs from the columns C of l
// items, sampled with a probability proportional to their degree (Algorithm 1
// of the paper samples uniformly; popular items see more of the graph). With E
// the n×l selection matrix, C = K E and A = Eᵀ K E: products with both are
// products of K with blocks that vanish outside of the sample, so neither is
// ever formed. Eigenvalues are Rayleigh quotients with K itself; the paper's
// (n/l)·λ(A) holds for uniform samples only.
func solveNystrom(op operator[float64], degrees []int64, opt Options) (*Basis, error) {
	k, n := opt.Rank, op.dim()
	o := opt.Nystrom.withDefaults(k, n)
	rng := rand.New(rand.NewPCG(opt.Seed, 0x6e797374))
	landmarks := sampleByWeight(degrees, o.Landmarks, rng)
	counted := &countingOp[float64]{operator: op}
	// Products with K lift both ends of its spectrum. In a covariance graph it
	// reaches down to −1, so there the iteration is with K + I/2: whatever was
	// negative is then below 1/2, and what was positive above.
	lift := operator[float64](counted)
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
	y := newGeneral(n, rank)
	scatterRows(y, columns(ua, 0, rank), landmarks)
	u := newGeneral(n, rank)
	multiplyTo(u, lift, y) // C U_A: the extension to all items
	var kappa []float64
	if o.Form == NystromPaper {
		kappa = rayleighQuotients(counted, u)
	} else {
		for range o.Refine {
			u, y = y, u
			multiplyTo(u, lift, y)
		}
		if kappa, _, err = rayleighRitz(counted, u); err != nil {
			return nil, err
		}
	}
	b := &Basis{N: n, K: rank, U: u.Data, Kappa: kappa, Report: Report{Solver: "nystrom-" + o.Form, Passes: counted.vectors}}
	b.truncate(min(k, rank))
	b.Report.Residual = b.residual(op)
	return b, nil
}

// shiftedOp is K + shift·I.
type shiftedOp struct {
	operator[float64]
	shift float64
}

func (s shiftedOp) applyTo(dst, x []float64, b int) {
	s.operator.applyTo(dst, x, b)
	floats.AddScaled(dst, s.shift, x)
}

// rayleighQuotients normalises the columns of u, sorts them by κ = uᵀKu in
// descending order and returns κ.
func rayleighQuotients(op operator[float64], u matrix[float64]) []float64 {
	norms := columnNorms(u)
	scaleColumns(u, func(j int) float64 { return 1 / max(norms[j], math.SmallestNonzeroFloat64) })
	ku := newGeneral(u.Rows, u.Cols)
	multiplyTo(ku, op, u)
	kappa := make([]float64, u.Cols)
	for i := range u.Rows {
		for j, x := range row(u, i) {
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
		from, to := row(u, i), row(ku, i) // ku is free now
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

// sampledEigen returns the leading count approximate eigenvectors (l×count)
// and eigenvalues of A = Eᵀ K E by randomised subspace iteration from a
// Gaussian Ω. The small matrix is Z = QᵀAQ; the paper's Z QᵀΩ = QᵀAΩ is the
// same up to what A maps out of the span of Q, and saves one product.
func sampledEigen(op operator[float64], landmarks []int32, count, power int, rng *rand.Rand) (u matrix[float64], lambda []float64, err error) {
	n, l := op.dim(), len(landmarks)
	q := newGeneral(l, count)
	for i := range q.Data {
		q.Data[i] = rng.NormFloat64()
	}
	x, kx := newGeneral(n, count), newGeneral(n, count)
	multiply := func() { // kx = K E q
		clear(x.Data)
		scatterRows(x, q, landmarks)
		multiplyTo(kx, op, x)
	}
	for range power {
		if err := orthonormalColumns(q); err != nil {
			return u, nil, err
		}
		multiply()
		gatherRows(q, kx, landmarks)
	}
	if err := orthonormalColumns(q); err != nil {
		return u, nil, err
	}
	multiply()
	aq := newGeneral(l, count)
	gatherRows(aq, kx, landmarks)
	z := newGeneral(count, count)
	transMul(z, q, aq)
	lambda, s, err := symmetricEigen(z)
	if err != nil {
		return u, nil, err
	}
	rotateColumns(q, count, s)
	return q, lambda, nil
}

// scatterRows sets the rows idx of dst to the rows of src.
func scatterRows(dst, src matrix[float64], idx []int32) {
	for r, i := range idx {
		copy(row(dst, int(i)), row(src, r))
	}
}

// gatherRows sets the rows of dst to the rows idx of src.
func gatherRows(dst, src matrix[float64], idx []int32) {
	for r, i := range idx {
		copy(row(dst, r), row(src, int(i)))
	}
}

// sampleByWeight draws count of the items without replacement, item i with
// probability proportional to weight[i], and returns them in rising order
// (A. Efraimidis, P. Spirakis, "Weighted random sampling with a reservoir",
// 2006: the largest keys E_i/w_i, E_i exponential, negated).
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
