package eigen

import (
	"math/rand/v2"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// Margins of the filter above k keep the k-th pair off the foot of the filter. The first margin
// usually makes up for the error of the probe's estimate. Where the spectrum is flat at the k-th
// eigenvalue, the filter lifts that eigenvalue by less than enoughLift above the ripple, and a
// larger margin is taken.
const (
	firstMargin  = 1.15
	marginGrowth = 1.25
	maxMargin    = 4
	enoughLift   = 2
)

// liftedAbove is the least value of the filter, in units of its ripple, of a lifted eigenvalue.
const liftedAbove = 1.5

// startKrylov returns the iteration with its space filled for the first time. The probe estimates
// the number of eigenvalues that a filter lifts; the filled space shows it. If fewer than k are
// lifted, the rest would never converge, because all eigenvalues below the foot of the filter look
// alike. Then a filter with a lower foot follows.
func startKrylov[T gemm.Float](
	op Operator[T], p Problem, work *workload,
) (*filteredIteration[T], error) {
	probe, done, err := runProbe(op, p, work)
	if err != nil || done {
		return probe, err
	}
	s, err := newSpectrum(probe.l)
	if err != nil {
		return nil, err
	}
	f := &filteredIteration[T]{top: s.theta[0], op: op}
	bound := deflationTolerance * p.Tolerance * f.top
	if f.found, err = probe.l.leading(min(p.K-1, maxDeflated), bound); err != nil {
		return nil, err
	}
	k := p.K - f.found.Cols
	if f.found.Cols > 0 {
		f.op = &deflatedOp[T]{Operator: op, x: f.found}
	}
	const b = BlockSize
	kth := s.above(float64(p.K) + float64(b)/2)
	for margin := float64(firstMargin); ; margin *= marginGrowth {
		cut := s.above(margin*float64(p.K) + float64(b)/2)
		f.filter = chooseFilter[T](s, f, cut, p)
		if f.filter.degree > 1 && margin <= maxMargin && f.filter.lift(kth) < enoughLift {
			continue
		}
		inner := f.op
		if f.filter.degree > 1 {
			inner = &chebyshevOp[T]{chebyshev: f.filter, Operator: f.op}
		}
		mix := probe.l.mixture(s.leading(f.found.Cols, cut), p.Seed+1)
		f.l = newLanczos(inner, mix, SpaceLimit(op.Dim(), k), p.Seed+1)
		f.l.work, f.l.degree = work, f.filter.degree
		good, err := f.l.advance(k, func() (int, error) { return f.good(k, p.Tolerance) })
		if err != nil {
			return nil, err
		}
		if good == k || f.filter.degree == 1 || margin > maxMargin ||
			f.l.theta[k-1] > liftedAbove*f.filter.norm {
			return f, nil
		}
	}
}

// chooseFilter returns the filter that damps eigenvalues below cut. If K has no further eigenvalue
// but 0, it returns the filter of degree 1, which is K itself.
func chooseFilter[T gemm.Float](
	s *spectrum, f *filteredIteration[T], cut float64, p Problem,
) chebyshev {
	if !(cut > 1e-6*f.top) {
		return chebyshev{degree: 1}
	}
	lo := min(0, max(s.lo, p.Lowest)) // 0 is the eigenvalue of the deflated vectors
	growth := growthLimit[T](p.Tolerance * f.top / cut)
	return newChebyshev(lo, cut, s.theta[f.found.Cols], growth, degreeLimit[T]())
}

// runProbe returns a short iteration with K itself. If the probe has already found half of the
// wanted pairs, the iteration continues. done tells that it has found all.
func runProbe[T gemm.Float](
	op Operator[T], p Problem, work *workload,
) (f *filteredIteration[T], done bool, err error) {
	const b = BlockSize
	n := op.Dim()
	least := (probeSteps + 1) * b
	l := newLanczos(op, randomBlock(n, b, p.Seed), max(least, min(2*least, n/2)), p.Seed)
	l.work, l.degree = work, 1
	l.fillTo(least - b)
	theta, _, err := l.ritz()
	if err != nil {
		return nil, false, err
	}
	f = &filteredIteration[T]{l: l, op: op, filter: chebyshev{degree: 1}, top: theta[0]}
	if 2*p.K > l.p {
		return f, false, nil
	}
	count := func() (int, error) { return f.good(p.K, p.Tolerance) }
	good, err := count()
	if err == nil && good < p.K && 2*good >= p.K {
		good, err = l.advance(p.K, count)
	}
	return f, good == p.K, err
}

// mixtureNoise is the length of the noise in a mixture beside that of the Ritz vectors.
const mixtureNoise = 0.01

// mixture returns a block of random mixtures of the Ritz vectors with the given indices, and a
// little noise for the directions that these miss.
func (l *lanczos[T]) mixture(numbers []int, seed uint64) dense.Matrix[float64] {
	noise := randomBlock(l.n, l.b, seed)
	if len(numbers) == 0 {
		return noise
	}
	chosen, turn := dense.New[float64](l.p, len(numbers)), dense.New[float64](l.p, l.b)
	for i := range l.p {
		for c, j := range numbers {
			dense.Row(chosen, i)[c] = dense.Row(l.s, i)[j]
		}
	}
	dense.MulAdd(turn, 1, chosen, randomBlock(len(numbers), l.b, seed+1))
	rounded, mixed := dense.New[T](l.p, l.b), dense.New[T](l.n, l.b)
	dense.Copy(rounded, turn)
	dense.MulAdd(mixed, 1, dense.Columns(l.v, 0, l.p), rounded)
	share := mixtureNoise * dense.MaxColumnNorm(mixed) / dense.MaxColumnNorm(noise)
	for i, v := range mixed.Data {
		noise.Data[i] = float64(v) + share*noise.Data[i]
	}
	return noise
}

// randomBlock is an n×b matrix of independent numbers from the standard normal distribution.
func randomBlock(n, b int, seed uint64) dense.Matrix[float64] {
	rng, block := rand.New(rand.NewPCG(seed, 0x6773696d63)), dense.New[float64](n, b)
	for i := range block.Data {
		block.Data[i] = rng.NormFloat64()
	}
	return block
}

// degreeLimit bounds the degree of the filter: higher degrees save less dense work than they cost
// products. Dense work of float64 weighs more.
func degreeLimit[T gemm.Float]() int {
	if isDouble[T]() {
		return 10
	}
	return 4
}

// growthLimit bounds p(κ)/p(cut) for the largest κ that the filter p sees. The vectors are rounded
// beside that κ, and p(K) turns the rounding into an error beside the smallest wanted pairs. As
// measured, those of float32 get residuals of up to about 1e-8·κ_cut times the growth, which must
// stay below the tolerance tol, in units of κ_cut. Beyond a growth of 1e6 the small pairs drown.
func growthLimit[T gemm.Float](tol float64) float64 {
	if isDouble[T]() {
		return 1e8
	}
	return min(1e8*tol, 1e6)
}
