package spectral

import (
	"math"
	"math/rand/v2"

	"github.com/gsimc/gsimc/internal/gemm"
)

const (
	// blockSize is the number of columns of a block. Narrower ones would need fewer products with K, but those with 32 columns,
	// which gemm has kernels for, take hardly longer than any others.
	blockSize = sparseStrip
	// probeSteps is the number of block steps of the probe, which sees the density of the spectrum.
	probeSteps = 12
	// spaceBytes bounds the Lanczos vectors that are kept so that there is no restart.
	spaceBytes = 1 << 30
)

// fewestColumns is the number of Lanczos vectors with which restarts get on well for rank k.
func fewestColumns(k int) int { return k + k/2 + 10*blockSize }

// columnLimit is the number of Lanczos vectors kept for rank k. Even where eigenvalues lie close beside the k-th, a run needs
// no more than three for each wanted one and some; a restart costs more products than it saves of other work.
func columnLimit(n, k int) int {
	const size = 4 // bytes of an element, as a rule
	return max(fewestColumns(k), min(3*k+16*blockSize, 2*n/3, spaceBytes/(size*n)))
}

// lanczosFits tells whether the Krylov space is well below the whole space; if
// not, the dense solver is at least as fast and always exact.
func lanczosFits(n, k int) bool { return 3*fewestColumns(k) <= 2*n }

// largestKrylovRank is the largest rank that lanczosFits for n items.
func largestKrylovRank(n int) int {
	k := n
	for k > 1 && !lanczosFits(n, k) {
		k--
	}
	return k
}

// solveKrylov finds the k leading eigenpairs of K by block Lanczos on a
// Chebyshev filter of K, which a short probe of the spectrum determines.
func solveKrylov(a affinity, opt Options) (*Basis, error) {
	if opt.Tolerance < singleTolerance {
		return iterate(a.double, a.double, opt)
	}
	b, err := iterate(a.single, a.double, opt)
	if err != nil || b.Report.Residual <= opt.Tolerance {
		return b, err
	}
	return iterate(a.double, a.double, opt)
}

// iterate is solveKrylov with products by op; what counts is exact.
func iterate[T gemm.Float](op operator[T], exact operator[float64], opt Options) (*Basis, error) {
	k := opt.Rank
	counted := &countingOp[T]{operator: op}
	opt.meter.begin(1 - measurementShare)
	f, err := startKrylov(counted, opt)
	if err != nil {
		return nil, err
	}
	l, found, limit := f.l, f.found.Cols, maxRestarts
	if !isDouble[T]() {
		limit = maxSingleRestarts
	}
	out := &Basis{N: l.n, K: k}
	for tol, last := opt.Tolerance, math.Inf(1); ; tol /= 10 {
		if err := l.solve(k-found, func() (int, error) { return f.good(k-found, tol) }, limit); err != nil {
			return nil, err
		}
		opt.meter.begin(1)
		u := newGeneral(l.n, k)
		copyMatrix(columns(u, 0, found), f.found)
		copyMatrix(columns(u, found, k), l.vectors(leadingNumbers(k-found)))
		kappa, residual, err := rayleighRitz(exact, u)
		if err != nil {
			return nil, err
		}
		counted.vectors += k
		out.U, out.Kappa, out.Report.Residual = u.Data, kappa, residual
		stalled := !isDouble[T]() && residual > last/2 // what does not fall with tol is rounding
		if residual <= opt.Tolerance || stalled || tol < leastTolerance[T]() || l.restarts >= limit {
			break
		}
		last = residual
	}
	out.Report.Solver, out.Report.Passes, out.Report.Restarts = "lanczos", counted.vectors, l.restarts
	return out, nil
}

func leadingNumbers(k int) []int {
	numbers := make([]int, k)
	for j := range numbers {
		numbers[j] = j
	}
	return numbers
}

// leastTolerance is what rounding makes it useless to go below.
func leastTolerance[T gemm.Float]() float64 {
	if isDouble[T]() {
		return FinestTolerance
	}
	return singleTolerance / 10
}

func isDouble[T gemm.Float]() bool {
	_, double := any(T(0)).(float64)
	return double
}

// Margins of the filter above k, which keep the k-th pair off its foot. The
// first is what the probe's estimate is usually good for. Where the spectrum
// is flat at the k-th eigenvalue, the filter lifts it by less than enoughLift
// above the ripple then, and a larger margin is taken.
const (
	firstMargin  = 1.15
	marginGrowth = 1.25
	maxMargin    = 4
	enoughLift   = 2
)

// startKrylov returns the iteration with its space filled for the first time.
// The probe only estimates how many eigenvalues a filter lifts; what fills the
// space tells. Where they are fewer than k the rest would never converge, since
// the filter makes all eigenvalues below its foot alike, and a filter with a
// lower foot is taken.
func startKrylov[T gemm.Float](op operator[T], opt Options) (*filteredIteration[T], error) {
	k, b := opt.Rank, blockSize
	probe, done, err := runProbe(op, opt)
	if err != nil || done {
		return probe, err
	}
	s, err := newSpectrum(probe.l)
	if err != nil {
		return nil, err
	}
	f := &filteredIteration[T]{top: s.theta[0]}
	if f.found, err = probe.l.leading(min(k-1, maxDeflated), deflationTolerance*opt.Tolerance*s.theta[0]); err != nil {
		return nil, err
	}
	k -= f.found.Cols
	if f.found.Cols > 0 {
		op = &deflatedOp[T]{operator: op, x: f.found}
	}
	lo := min(0, max(s.lo, opt.Graph.lowest())) // 0 is the eigenvalue of what has been taken out
	kth := s.above(float64(opt.Rank) + float64(b)/2)
	for margin := float64(firstMargin); ; margin *= marginGrowth {
		cut := s.above(margin*float64(opt.Rank) + float64(b)/2)
		f.filter = chebyshev{degree: 1}
		if cut > 1e-6*f.top { // else fewer eigenvalues are not zero
			f.filter = newChebyshev(lo, cut, s.theta[f.found.Cols], growthLimit[T](opt.Tolerance*f.top/cut), degreeLimit[T]())
		}
		if f.filter.degree > 1 && margin <= maxMargin && f.filter.lift(kth) < enoughLift {
			continue
		}
		f.op = op
		inner := op
		if f.filter.degree > 1 {
			inner = &chebyshevOp[T]{chebyshev: f.filter, op: op}
		}
		f.l = newLanczos(inner, probe.l.mixture(s.leading(f.found.Cols, cut), opt.Seed+1), columnLimit(op.dim(), k), opt.Seed+1)
		f.l.stepped = func() { opt.meter.update(float64(f.l.p) / float64(f.l.limit)) }
		good, err := f.l.advance(k, func() (int, error) { return f.good(k, opt.Tolerance) })
		if err != nil {
			return nil, err
		}
		if good == k || f.filter.degree == 1 || margin > maxMargin || f.l.theta[k-1] > liftedAbove*f.filter.norm {
			return f, nil
		}
	}
}

// runProbe returns a short iteration with K itself. It goes on where this has half of the wanted pairs already, and is done
// when it has all.
func runProbe[T gemm.Float](op operator[T], opt Options) (f *filteredIteration[T], done bool, err error) {
	n, b := op.dim(), blockSize
	least := (probeSteps + 1) * b
	l := newLanczos(op, randomBlock(n, b, opt.Seed), max(least, min(2*least, n/2)), opt.Seed)
	l.fillTo(least - b)
	theta, _, err := l.ritz()
	if err != nil {
		return nil, false, err
	}
	f = &filteredIteration[T]{l: l, op: op, filter: chebyshev{degree: 1}, top: theta[0]}
	if 2*opt.Rank > l.p {
		return f, false, nil
	}
	count := func() (int, error) { return f.good(opt.Rank, opt.Tolerance) }
	good, err := count()
	if err == nil && good < opt.Rank && 2*good >= opt.Rank {
		good, err = l.advance(opt.Rank, count)
	}
	return f, good == opt.Rank, err
}

// mixture is a block of random mixtures of the Ritz vectors of the given numbers, with a little noise for what they miss.
func (l *lanczos[T]) mixture(numbers []int, seed uint64) matrix[float64] {
	noise := randomBlock(l.n, l.b, seed)
	if len(numbers) == 0 {
		return noise
	}
	chosen, turn := newGeneral(l.p, len(numbers)), newGeneral(l.p, l.b)
	for i := range l.p {
		for c, j := range numbers {
			row(chosen, i)[c] = row(l.s, i)[j]
		}
	}
	mulAdd(turn, 1, chosen, randomBlock(len(numbers), l.b, seed+1))
	rounded, mixed := newMatrix[T](l.p, l.b), newMatrix[T](l.n, l.b)
	copyMatrix(rounded, turn)
	mulAdd(mixed, 1, columns(l.v, 0, l.p), rounded)
	share := mixtureNoise * maxColumnNorm(mixed) / maxColumnNorm(noise)
	for i, v := range mixed.Data {
		noise.Data[i] = float64(v) + share*noise.Data[i]
	}
	return noise
}

// mixtureNoise is the length of the noise beside that of the mixtures.
const mixtureNoise = 0.01

// randomBlock is an n×b matrix of independent numbers from the standard normal distribution.
func randomBlock(n, b int, seed uint64) matrix[float64] {
	rng, block := rand.New(rand.NewPCG(seed, 0x6773696d63)), newGeneral(n, b)
	for i := range block.Data {
		block.Data[i] = rng.NormFloat64()
	}
	return block
}

// liftedAbove is how far above the ripple of a filter an eigenvalue counts as
// lifted: the ripple itself has the value 1.
const liftedAbove = 1.5

// degreeLimit bounds the degree of the filter: higher ones save less dense work than they cost products. Where that work is of
// float64 it weighs more.
func degreeLimit[T gemm.Float]() int {
	if isDouble[T]() {
		return 10
	}
	return 4
}

// growthLimit bounds p(κ)/p(cut) for the largest κ that the filter sees. Beside that κ the vectors are rounded, and p(K) makes of
// it an error beside the smallest wanted pairs: those of float32 have then residuals of up to about 1e-8·κ_cut times the growth, as
// measured, which must stay below the tolerance; tol is the tolerance in units of κ_cut. Beyond 1e6 the small pairs drown.
func growthLimit[T gemm.Float](tol float64) float64 {
	if isDouble[T]() {
		return 1e8
	}
	return min(1e8*tol, 1e6)
}

// rayleighRitz replaces u by the eigenvectors of K within its span. It returns
// their eigenvalues, descending, and max_j ‖K u_j − κ_j u_j‖ / κ_1.
func rayleighRitz(op operator[float64], u matrix[float64]) (kappa []float64, residual float64, err error) {
	if err := orthonormalColumns(u); err != nil {
		return nil, 0, err
	}
	ku, gram := newGeneral(u.Rows, u.Cols), newGeneral(u.Cols, u.Cols)
	multiplyTo(ku, op, u)
	transMul(gram, u, ku)
	kappa, s, err := symmetricEigen(gram)
	if err != nil {
		return nil, 0, err
	}
	rotateColumns(u, u.Cols, s)
	rotateColumns(ku, u.Cols, s)
	return kappa, worstResidual(u, ku, kappa), nil
}

// worstResidual is max_j ‖K u_j − κ_j u_j‖ / (κ_1 ‖u_j‖). It overwrites ku, which is K u.
func worstResidual(u, ku matrix[float64], kappa []float64) float64 {
	parallelRows(u.Rows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to := row(ku, i)
			for j, x := range row(u, i) {
				to[j] -= kappa[j] * x
			}
		}
	})
	var worst float64
	norms := columnNorms(u)
	for j, norm := range columnNorms(ku) {
		worst = max(worst, norm/(kappa[0]*norms[j]))
	}
	return worst
}

// countingOp counts the vectors that are multiplied.
type countingOp[T gemm.Float] struct {
	operator[T]
	vectors int
}

func (c *countingOp[T]) applyTo(dst, x []T, b int) {
	c.vectors += b
	c.operator.applyTo(dst, x, b)
}
